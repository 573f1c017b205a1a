"""uid 0, and still refused: the capability that makes root pass file modes was dropped."""

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

TITLE = Text(
    "root may not open {node}: the capability CAP_DAC_OVERRIDE was dropped",
    "root 也无法打开 {node}：缺少 CAP_DAC_OVERRIDE 能力",
)
CAUSE = Text(
    "the node is {owner}:{group} {mode}; root passes such modes only with CAP_DAC_OVERRIDE, and this "
    "container runs without it (effective capabilities {caps})",
    "该节点为 {owner}:{group} {mode}；root 只有具备 CAP_DAC_OVERRIDE 才能越过权限，"
    "而此容器没有该能力（有效能力 {caps}）",
)
ADD_FIX = Text(
    "start the container with that capability, or with the node's group",
    "启动容器时加上该能力，或加上节点所属的组",
)
_CAP_DAC_OVERRIDE = 1 << 1


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """EACCES for uid 0."""
    user = value(machine.user)
    refused = refused_nodes(machine, "EACCES")
    if user is None or user.uid != 0 or not refused:
        return
    if user.cap_eff >= 0 and user.cap_eff & _CAP_DAC_OVERRIDE:
        return
    node = next((n for n in refused if n in chip_nodes(machine)), refused[0])
    caps = f"{user.cap_eff:#x}" if user.cap_eff >= 0 else "?"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"node": node.path, "owner": node.owner, "group": node.group, "mode": node.mode, "caps": caps},
        fixes=(
            Fix(
                ADD_FIX,
                (
                    "docker run --cap-add DAC_OVERRIDE ... <image>",
                    f"docker run --group-add {node.gid} ... <image>",
                ),
                host_only=True,
            ),
        ),
        evidence=tuple(evidence(n.path, f"{n.owner}:{n.group} {n.mode}, open: EACCES") for n in refused[:3]),
        place=node.path,
    )


CHECK = Check(
    "NPU014",
    "root-without-capability",
    Text("root passes the modes of the device nodes", "root 可越过设备节点的权限"),
    needs=("nodes", "user"),
    run=run,
    applies=lambda m: bool(value(m.nodes)),
    sources=("https://github.com/Project-HAMi/ascend-device-plugin/issues/139",),
)
