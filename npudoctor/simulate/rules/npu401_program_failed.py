"""The program ended with an error or a status other than 0.

Its own traceback is printed above the report; the counts end where it ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Finding, Fix, Place, Rule, Severity, Text, filled

_TITLE = Text("the program stopped with an error: {error}", "程序异常终止：{error}")
_CAUSE = Text(
    "the counts below end where the program ended; the traceback is above",
    "下方统计截止到程序终止处；堆栈信息见上文",
)
_FIX = Text("mend the error and run again", "修正该错误后重新运行")
_STATUS_WORDS = Text("exit status {status}", "退出码 {status}")


def run(summary: dict[str, Any], outcome: Any) -> Iterator[Finding]:
    """One finding when the outcome has a status."""
    if outcome is None or not outcome.status:
        return
    path, _, line = outcome.where.rpartition(":")
    yield Finding(
        "NPU401", "program-failed", Severity.ERROR, _TITLE, _CAUSE,
        place=Place(path, int(line)) if line.isdecimal() else None,
        params={"error": outcome.error or filled(_STATUS_WORDS, {"status": outcome.status})},
        fixes=(Fix(_FIX),),
    )


RULE = Rule("NPU401", "program-failed", "run", run)
