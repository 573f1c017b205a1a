"""ASCEND_RT_VISIBLE_DEVICES is not an ascending list of different numbers."""

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
    device_ids,
    device_works,
    evidence,
    has_npu_software,
    seen_hardware,
)

TITLE = Text(
    "ASCEND_RT_VISIBLE_DEVICES={mask} is not an ascending list of numbers",
    "ASCEND_RT_VISIBLE_DEVICES={mask} 不是升序的数字列表",
)
CAUSE = Text(
    "the runtime takes the list only when its ids are unique and ascending; otherwise it hides devices, and "
    "is_available() may be False without any message",
    "运行时要求编号不重复且按升序排列；否则会隐藏设备，is_available() 可能静默返回 False",
)
FIX = Text("write the ids in ascending order", "按升序书写编号")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Not a number, twice the same, or descending."""
    mask = machine.var("ASCEND_RT_VISIBLE_DEVICES") or ""
    ids = device_ids(mask)
    if not mask.strip() or (ids is not None and list(ids) == sorted(set(ids))):
        return
    right = ",".join(str(i) for i in sorted(set(ids))) if ids else "0"
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        {"mask": mask},
        place="ASCEND_RT_VISIBLE_DEVICES",
        fixes=(Fix(FIX, (f"export ASCEND_RT_VISIBLE_DEVICES={right}",)),),
        evidence=(evidence("ASCEND_RT_VISIBLE_DEVICES", mask),),
    )


CHECK = Check(
    "NPU083",
    "visible-devices-unordered",
    Text("the device list is ascending", "设备列表为升序"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or has_npu_software(m),
    sources=("https://github.com/modelscope/Trinity-RFT/pull/618",),
)
