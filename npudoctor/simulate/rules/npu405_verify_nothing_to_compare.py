"""Both programs ran, but left no number that could be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Finding, Fix, Rule, Severity, Text

_TITLE = Text("there was nothing to compare", "没有可比较的内容")
_CAUSE = Text(
    "the program printed and logged no number that it repeats, and made no optimizer",
    "程序没有输出或记录可重复的数值，也没有创建优化器",
)
_FIX = Text("let the program print a result, and seed it", "让程序输出结果，并设定随机种子")


def run(verification: Any) -> Iterator[Finding]:
    """One finding when both ran and neither agreed nor differed."""
    ran = verification.original.status == 0 and verification.migrated.status == 0
    if ran and not verification.differences and not verification.conclusive:
        yield Finding(
            "NPU405", "verify-nothing-to-compare", Severity.WARNING, _TITLE, _CAUSE,
            fixes=(Fix(_FIX),),
        )


RULE = Rule("NPU405", "verify-nothing-to-compare", "verify", run)
