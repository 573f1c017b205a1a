"""torch.compile was asked for; the simulated NPU has no code generator and runs the model as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Finding, Fix, Rule, Severity, Text

_TITLE = Text("torch.compile was asked for {times} times", "程序请求了 {times} 次 torch.compile")
_CAUSE = Text(
    "the simulated NPU has no code generator; the model ran as it is, so kernels are those of eager mode",
    "模拟 NPU 没有代码生成器；模型按原样运行，因此算子数为即时模式下的数值",
)
_FIX = Text("nothing to mend; compare counts in eager mode", "无需修复；请在即时模式下比较计数")


def run(summary: dict[str, Any], outcome: Any) -> Iterator[Finding]:
    """One note with the number of requests."""
    times = summary["notes"].get("torch.compile")
    if times:
        yield Finding(
            "NPU407", "compile-not-simulated", Severity.NOTE, _TITLE, _CAUSE,
            params={"times": times}, fixes=(Fix(_FIX),),
        )


RULE = Rule("NPU407", "compile-not-simulated", "run", run)
