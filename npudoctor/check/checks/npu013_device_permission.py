"""The nodes are there, and this user may not open them."""

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
    in_container,
    refused_nodes,
    value,
)

TITLE = Text(
    "uid {uid} may not open {node} ({owner}:{group} {mode})",
    "uid {uid} 无权打开 {node}（{owner}:{group} {mode}）",
)
CAUSE = Text(
    "the node admits its owner and the group {group}; this process has uid {uid} and the groups {groups}",
    "该节点只允许属主和 {group} 组访问；本进程 uid 为 {uid}，所属组为 {groups}",
)
JOIN_FIX = Text("on a host: join the group {group} and log in again", "在主机上：加入 {group} 组并重新登录")
CONTAINER_FIX = Text("in a container: start it with the group of the node", "在容器中：以该节点的组启动容器")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """open(2) answered EACCES and this user is not root (root is NPU014's case)."""
    user = value(machine.user)
    refused = refused_nodes(machine, "EACCES")
    if user is None or user.uid == 0 or not refused:
        return
    node = next((n for n in refused if n in chip_nodes(machine)), refused[0])
    join = Fix(JOIN_FIX, (f"sudo usermod -aG {node.group} $USER", "newgrp " + node.group), needs_root=True)
    group = Fix(CONTAINER_FIX, (f"docker run --group-add {node.gid} ... <image>",), host_only=True)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {
            "uid": user.uid,
            "node": node.path,
            "owner": node.owner,
            "group": node.group,
            "mode": node.mode,
            "groups": ", ".join(user.group_names) or ", ".join(map(str, user.groups)),
        },
        fixes=(group, join) if in_container(machine) else (join, group),
        place=node.path,
        evidence=tuple(evidence(n.path, f"{n.owner}:{n.group} {n.mode}, open: EACCES") for n in refused[:3]),
    )


CHECK = Check(
    "NPU013",
    "device-permission",
    Text("this user may open the device nodes", "当前用户可以打开设备节点"),
    needs=("nodes", "user"),
    run=run,
    applies=lambda m: bool(value(m.nodes)),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/9490",),
)
