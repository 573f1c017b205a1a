"""Nearly all memory of a chip is taken, by whom if npu-smi tells."""

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
    chips,
    evidence,
    value,
)

TITLE = Text(
    "chip {chip} has {free} MB of {total} MB memory left", "芯片 {chip} 的 {total} MB 内存仅剩 {free} MB"
)
LISTED_CAUSE = Text("taken by: {who}", "占用者：{who}")
HIDDEN_CAUSE = Text(
    "npu-smi lists no process: another container holds it (its processes are not visible from here), or "
    "a process that died left it taken",
    "npu-smi 没有列出进程：可能被另一个容器占用（其进程在此不可见），或由已退出的进程残留",
)
FREE_FIX = Text("end the job that holds it, or choose another chip", "结束占用的任务，或改用其他芯片")
_FULL = 0.95


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A warning above 95% of the memory that the chip's own column counts."""
    info = value(machine.npu_smi.info)
    for chip in chips(machine):
        used, total = chip.memory_used_mb, chip.memory_total_mb
        if not used or not total or used < _FULL * total:
            continue
        mine = [p for p in info.processes if p.npu == chip.npu and p.chip in (None, chip.chip)]
        who = ", ".join(f"{p.name} (pid {p.pid}, {p.memory_mb} MB)" for p in mine)
        yield CHECK.found(
            Severity.WARNING,
            TITLE,
            LISTED_CAUSE if who else HIDDEN_CAUSE,
            {"chip": f"{chip.npu}/{chip.chip}", "free": total - used, "total": total, "who": who},
            fixes=(
                Fix(
                    FREE_FIX,
                    tuple(f"ps -o pid,user,etime,cmd -p {p.pid}" for p in mine)
                    or ("docker ps --no-trunc", "export ASCEND_RT_VISIBLE_DEVICES=<free chip>"),
                ),
            ),
            evidence=(evidence("npu-smi info", f"NPU {chip.npu} chip {chip.chip}: {used} / {total} MB"),),
        )


CHECK = Check(
    "NPU021",
    "chip-memory-taken",
    Text("the chips have memory left", "芯片有可用内存"),
    needs=("npu_smi.info",),
    run=run,
    applies=lambda m: bool(chips(m)),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/632",),
)
