"""A child process that imported or computed did not end in time."""

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
    TimedOut,
    evidence,
)

TITLE = Text("{what} did not end in time", "{what} 未在限定时间内结束")
CAUSE = Text(
    "the child was stopped at its limit; a driver call that never returns, a chip that another "
    "process holds, "
    "or a slow file system",
    "子进程到达时间上限后被终止；可能是驱动调用不返回、芯片被其他进程占用，或文件系统过慢",
)
FIX = Text("try it by hand with a stack dump, or with a longer limit", "手动执行并打印堆栈，或放宽时间上限")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """The first of the probes that timed out; those after it could not run."""
    leaves = (
        machine.probes.torch,
        machine.probes.torch_plain,
        machine.probes.torch_npu,
        machine.probes.compute,
    )
    late = next((leaf for leaf in leaves if isinstance(leaf, TimedOut)), None)
    if late is None:
        return
    python = machine.python.executable or "python"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"what": late.detail if late.detail.startswith("import") else late.place},
        fixes=(
            Fix(
                FIX,
                (
                    f"{python} -X faulthandler -c 'import faulthandler; "
                    f"faulthandler.dump_traceback_later(30); "
                    "import torch'",
                    "npudoctor check --timeout 300",
                ),
            ),
        ),
        evidence=(evidence(late.place, late.detail),),
    )


CHECK = Check(
    "NPU077",
    "probe-hangs",
    Text("the probes end in time", "探测子进程及时结束"),
    needs=("python.packages",),
    run=run,
    explained_by=("NPU016", "NPU018"),
    applies=lambda m: m.python.first("torch") is not None,
    sources=("https://docs.python.org/3/library/faulthandler.html",),
)
