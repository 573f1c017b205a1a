"""In a container: no chip node, or a managing node is missing beside it."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Severity,
    Tables,
    Text,
    chip_nodes,
    device_works,
    evidence,
    in_container,
    value,
)

TITLE = Text(
    "device nodes are not mapped into this container: {missing}", "设备节点没有映射到此容器：{missing}"
)
CAUSE = Text(
    "a container sees only the nodes that it was started with; the NPU needs the chip's node and those that "
    "manage it",
    "容器只能看到启动时映射进来的节点；使用 NPU 需要芯片节点和管理节点",
)
FIX = Text(
    "start the container again with these nodes (npudoctor container on the host prints the line)",
    "重新启动容器并映射这些节点（在主机上运行 npudoctor container 可得到完整命令）",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Nodes of the manager and the host-device channel; memory nodes differ between chip lines."""
    names = {node.path for node in value(machine.nodes, ())}
    missing = [] if chip_nodes(machine) else ["/dev/davinci0"]
    managers = {"/dev/davinci_manager", "/dev/davinci_manager_docker"}
    missing += [] if names & managers else ["/dev/davinci_manager"]
    missing += [] if "/dev/hisi_hdc" in names else ["/dev/hisi_hdc"]
    missing += [] if names & {"/dev/devmm_svm", "/dev/asdrv_svm", "/dev/svm0"} else ["/dev/devmm_svm"]
    if not missing:
        return
    devices = " ".join(f"--device {path}" for path in missing)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"missing": ", ".join(missing)},
        fixes=(Fix(FIX, (f"docker run {devices} ... <image>",), host_only=True),),
        evidence=(evidence("/dev", ", ".join(sorted(names)) or "davinci*: ENOENT"),),
    )


CHECK = Check(
    "NPU012",
    "device-nodes-not-mapped",
    Text("the device nodes are mapped", "设备节点已映射"),
    needs=("nodes", "os.container"),
    run=run,
    explained_by=("NPU001",),
    applies=lambda m: (
        in_container(m)
        and not device_works(m)
        and (bool(value(m.nodes)) or isinstance(m.driver.libraries, Known))
    ),
    sources=("https://github.com/vllm-project/vllm-ascend/blob/main/docs/source/installation.md",),
)
