"""How many syncs the argument checks of torch.distributions cause.

Each check reads one number back: two for a Normal, one for its log_prob, and so on. They are nowhere in
the program's own text and are often most of all scalar reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npudoctor.simulate.api import Finding, Fix, Place, Rule, Severity, Text

VALIDATION_FILES = ("torch/distributions/",)
_TITLE = Text(
    "{times} of {total} host-device syncs come from argument checks of torch.distributions",
    "{total} 次主机与设备同步中，有 {times} 次来自 torch.distributions 的参数校验",
)
_CAUSE = Text(
    "a distribution tests its parameters with `if not ...all()`, which reads one number back from the "
    "device each time",
    "分布对象用 `if not ...all()` 校验参数，每次都要从设备读回一个数",
)
_FIX = Text(
    "pass validate_args=False, or call torch.distributions.Distribution.set_default_validate_args(False) "
    "once; numbers stay the same, but invalid parameters then no longer raise ValueError",
    "传入 validate_args=False，或调用一次 torch.distributions.Distribution.set_default_validate_args(False)；"
    "数值不变，但参数非法时不再抛出 ValueError",
)
_SOURCE = "https://docs.pytorch.org/docs/stable/distributions.html"


def run(summary: dict[str, Any], outcome: Any) -> Iterator[Finding]:
    """One finding with the sum, at the line with most of them."""
    worst: tuple[int, dict[str, Any]] | None = None
    times = 0
    for line in summary["lines"]:
        here = sum(path["times"] for path in line["paths"] if _validates(path["calls"]))
        times += here
        if here and (worst is None or here > worst[0]):
            worst = (here, line)
    if worst is None:
        return
    yield Finding(
        "NPU402", "distribution-validation-syncs", Severity.NOTE, _TITLE, _CAUSE,
        place=Place(worst[1]["path"], worst[1]["line"]),
        params={"times": times, "total": summary["totals"]["syncs"]},
        fixes=(Fix(_FIX),), sources=(_SOURCE,),
    )


def _validates(calls: list[str]) -> bool:
    return any(call.startswith(VALIDATION_FILES) for call in calls[1:])


RULE = Rule("NPU402", "distribution-validation-syncs", "run", run)
