"""The interpreter under diagnosis does not run, so nothing about torch can be said."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    NotRecorded,
    Severity,
    Tables,
    Text,
    TimedOut,
    evidence,
)

TITLE = Text("the Python to diagnose does not run: {python}", "要诊断的 Python 无法运行：{python}")
CAUSE = Text(
    "it was started to list its packages and gave no answer: {why}",
    "启动它列出已安装的包，但没有得到结果：{why}",
)
HANGS_CAUSE = Text(
    "it was started to list its packages and did not end in time",
    "启动它列出已安装的包，但未在限定时间内结束",
)
FIX = Text("name a working interpreter", "请指定一个可用的解释器")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Missing, refused, hanging, or printing something else than asked."""
    version = machine.python.version
    if isinstance(version, (Known, NotRecorded)):
        return
    why = getattr(version, "detail", "") or "ENOENT"
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        HANGS_CAUSE if isinstance(version, TimedOut) else CAUSE,
        {"python": machine.python.executable, "why": why},
        fixes=(Fix(FIX, ("npudoctor check --python /path/to/python",)),),
        evidence=(evidence(machine.python.executable, why),),
    )


CHECK = Check(
    "NPU002",
    "python-broken",
    Text("the interpreter runs", "解释器可以运行"),
    needs=(),
    run=run,
)
