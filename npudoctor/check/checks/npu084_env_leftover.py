"""Variables of another world: they look as if they did something here, and do nothing."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Iterable,
    Machine,
    Tables,
    Text,
    flagged_variables,
    misused_variables,
    seen_hardware,
)

TITLE = Text("variables without effect on the NPU are set: {names}", "设置了对 NPU 无效的变量：{names}")
CAUSE = Text(
    "NPUs are chosen with ASCEND_RT_VISIBLE_DEVICES alone", "选择 NPU 只看 ASCEND_RT_VISIBLE_DEVICES"
)
FIX = Text(
    "unset them, and choose devices with ASCEND_RT_VISIBLE_DEVICES where that was meant",
    "取消这些变量；若本意是选择设备，请使用 ASCEND_RT_VISIBLE_DEVICES",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """One warning for all of them."""
    masks = [
        row["name"]
        for row in flagged_variables(machine, "leftover")
        if row["name"].endswith("VISIBLE_DEVICES") and machine.var("ASCEND_RT_VISIBLE_DEVICES") is None
    ]
    more = [f"export ASCEND_RT_VISIBLE_DEVICES={machine.var(mask)}" for mask in masks[:1]]
    return misused_variables(CHECK, machine, "leftover", TITLE, CAUSE, FIX, *more)


CHECK = Check(
    "NPU084",
    "env-leftover",
    Text("no leftover CUDA variables", "没有残留的 CUDA 变量"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or m.python.first("torch-npu") is not None,
    sources=(
        "https://github.com/Comfy-Org/ComfyUI/issues/7785",
        "https://github.com/huggingface/accelerate/issues/2368",
    ),
)
