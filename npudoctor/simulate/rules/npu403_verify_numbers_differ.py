"""The migrated program's numbers differ from the original's.

Printed numbers, logged scalars or final weights; what the original does not repeat itself is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Evidence, Finding, Fix, Rule, Severity, Text

_TITLE = Text(
    "the migrated program's numbers differ from the original's: {n} of {total} compared values",
    "迁移后的程序与原程序的数值不一致：比较的 {total} 个值中有 {n} 个不同",
)
_CAUSE = Text(
    "the original ran on the CPU and the migrated code on the simulated NPU, which computes with the same "
    "CPU kernels; so a difference comes from the code",
    "原程序在 CPU 上运行，迁移后的代码在模拟 NPU 上运行，二者使用相同的 CPU 算子，因此差异来自代码本身",
)
_FIX = Text(
    "look at the first difference; undo the rewrite that it comes from, or seed what is random",
    "查看第一处差异；撤销引起差异的改写，或为随机部分设定种子",
)


def run(verification: Any) -> Iterator[Finding]:
    """One finding with the first differences as evidence."""
    if not verification.differences:
        return
    evidence = tuple(
        Evidence(f"{d.kind}: {d.name}", f"{d.original} -> {d.migrated}") for d in verification.differences[:5]
    )
    total = max(sum(verification.compared.values()), len(verification.differences))
    yield Finding(
        "NPU403", "verify-numbers-differ", Severity.ERROR, _TITLE, _CAUSE,
        params={"n": len(verification.differences), "total": total}, evidence=evidence,
        fixes=(Fix(_FIX),),
    )


RULE = Rule("NPU403", "verify-numbers-differ", "verify", run)
