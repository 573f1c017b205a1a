"""Debug variables left on: the device waits, the log grows."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Iterable,
    Machine,
    Tables,
    Text,
    misused_variables,
    seen_hardware,
)

TITLE = Text("debug variables slow the device: {names}", "调试变量使设备变慢：{names}")
CAUSE = Text("they are for finding faults (synchronous launches, logs)", "它们用于排查问题（同步下发、日志）")
FIX = Text("unset them for real runs", "正式运行前取消这些变量")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """One warning for all of them."""
    return misused_variables(CHECK, machine, "debug", TITLE, CAUSE, FIX)


CHECK = Check(
    "NPU085",
    "debug-env",
    Text("no debug variables are on", "没有开启调试变量"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or m.python.first("torch-npu") is not None,
    sources=("https://github.com/modelscope/ms-swift/issues/3650",),
)
