"""ASCEND_RT_VISIBLE_DEVICES names devices that do not exist here."""

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
    chips,
    device_ids,
    device_works,
    evidence,
    seen_hardware,
)

TITLE = Text(
    "ASCEND_RT_VISIBLE_DEVICES={mask} names {wrong}, but here are only {valid}",
    "ASCEND_RT_VISIBLE_DEVICES={mask} 中的 {wrong} 不存在，此处只有 {valid}",
)
CAUSE = Text(
    "the ids are logical and local: inside a container or virtual machine they start at 0 whatever "
    "the host's "
    "numbers are; invalid ids are dropped silently or end in 207004 / 107001",
    "这些编号是逻辑编号且仅在本地有效：在容器或虚拟机内从 0 开始，与主机编号无关；无效编号会被静默丢弃，"
    "或报 207004 / 107001",
)
FIX = Text("name only ids that exist here", "只写此处存在的编号")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Ids against the number of chips that npu-smi lists, else against the nodes."""
    mask = machine.var("ASCEND_RT_VISIBLE_DEVICES") or ""
    ids = device_ids(mask)
    count = len(chips(machine)) or len(chip_nodes(machine))
    if not ids or not count:
        return
    wrong = [i for i in ids if i >= count]
    if not wrong:
        return
    valid = ", ".join(map(str, range(count)))
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        {"mask": mask, "wrong": ", ".join(map(str, wrong)), "valid": valid},
        place="ASCEND_RT_VISIBLE_DEVICES",
        fixes=(
            Fix(
                FIX,
                (f"export ASCEND_RT_VISIBLE_DEVICES={','.join(map(str, range(count)))}", "npu-smi info -m"),
            ),
        ),
        evidence=(evidence("ASCEND_RT_VISIBLE_DEVICES", mask), evidence("npu-smi info", f"chips: {count}")),
    )


CHECK = Check(
    "NPU082",
    "visible-devices-invalid",
    Text("the device list names devices that exist", "设备列表中的设备都存在"),
    needs=("env", "nodes"),
    run=run,
    applies=seen_hardware,
    sources=(
        "https://github.com/gpustack/gpustack/issues/3352",
        "https://github.com/vllm-project/vllm-ascend/issues/10227",
    ),
)
