"""The original or the migrated program did not run to its end, so nothing can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Evidence, Finding, Fix, Rule, Severity, Text, filled

_TITLE = Text("{which} did not run to its end: {error}", "{which}未能运行到结束：{error}")
_CAUSE = Text("without both runs nothing can be compared", "两次运行缺一不可，否则无法比较")
_FIX = Text("mend the error and verify again", "修正该错误后重新验证")
_SHORTER_FIX = Text(
    "give the program arguments that make it short, or more time with --verify-timeout",
    "用参数让程序运行得更短，或用 --verify-timeout 给更长时间",
)
_ORIGINAL_WORDS = Text("the original (on the CPU)", "原程序（CPU）")
_MIGRATED_WORDS = Text("the migrated program (on the simulated NPU)", "迁移后的程序（模拟 NPU）")
_STATUS_WORDS = Text("exit status {status}", "退出码 {status}")


def run(verification: Any) -> Iterator[Finding]:
    """One finding for each program that failed, with the end of its error output."""
    from npudoctor.simulate.verify import NOT_RUN, TOO_LONG

    for one, which in ((verification.original, _ORIGINAL_WORDS), (verification.migrated, _MIGRATED_WORDS)):
        if one.status not in (0, NOT_RUN):
            tail = tuple(Evidence("stderr", line) for line in one.stderr.splitlines()[-3:] if line.strip())
            yield Finding(
                "NPU404", "verify-run-failed", Severity.ERROR, _TITLE, _CAUSE,
                params={"which": which, "error": one.error or filled(_STATUS_WORDS, {"status": one.status})},
                evidence=tail, fixes=(Fix(_SHORTER_FIX if one.status == TOO_LONG else _FIX),),
            )


RULE = Rule("NPU404", "verify-run-failed", "verify", run)
