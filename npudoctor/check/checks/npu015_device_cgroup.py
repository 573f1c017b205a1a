"""Modes fit, and the device control group forbids the node."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    chip_nodes,
    evidence,
    refused_nodes,
    value,
)

TITLE = Text("the device cgroup of this container forbids {node}", "此容器的设备 cgroup 禁止访问 {node}")
CAUSE = Text(
    "owner and mode allow it and open() answers EPERM, not EACCES: the container's device cgroup has no rule "
    "for this node",
    "属主与权限都允许，但 open() 返回 EPERM 而不是 EACCES：容器的设备 cgroup 中没有该节点的规则",
)
KUBE_FIX = Text(
    "in Kubernetes with the static CPU manager the cgroup is rewritten when the runtime, and not the device "
    "plugin, mounted the devices: let the device plugin allocate the NPU and start the pod again",
    "Kubernetes 启用 static CPU manager 时，若设备由运行时而非设备插件挂载，cgroup 会被改写："
    "请由设备插件分配 NPU 并重建 Pod",
)
DOCKER_FIX = Text(
    "map the node with --device (a bind mount with -v gives no right to open it)",
    "用 --device 映射该节点（用 -v 挂载并不会授予打开权限）",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """open(2) answered EPERM."""
    refused = refused_nodes(machine, "EPERM")
    if not refused:
        return
    node = next((n for n in refused if n in chip_nodes(machine)), refused[0])
    docker = Fix(DOCKER_FIX, (f"docker run --device {node.path} ... <image>",), host_only=True)
    kube = Fix(KUBE_FIX, host_only=True)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"node": node.path},
        fixes=(kube, docker)
        if machine.os.kubernetes or value(machine.os.container) == "kubernetes"
        else (docker, kube),
        evidence=tuple(evidence(n.path, f"{n.owner}:{n.group} {n.mode}, open: EPERM") for n in refused[:3]),
        place=node.path,
    )


CHECK = Check(
    "NPU015",
    "device-cgroup",
    Text("the device cgroup admits the nodes", "设备 cgroup 允许访问节点"),
    needs=("nodes",),
    run=run,
    applies=lambda m: bool(value(m.nodes)),
    sources=(
        "https://www.hiascend.com/doc_center/source/zh/mindcluster/70rc1/clustersched/dlug/"
        "dlug_installation_faq_021.html",
    ),
)
