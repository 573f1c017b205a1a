"""What a simulation has to say beyond counts: codes NPU401 and up."""

from __future__ import annotations

from typing import Any

from npudoctor.core.finding import Finding, Fix, Place, Severity
from npudoctor.core.text import Text

VALIDATION_FILES = ("torch/distributions/",)
_FAILED = Text("the program stopped with an error: {error}", "程序异常终止：{error}")
_FAILED_CAUSE = Text(
    "the counts below end where the program ended; the traceback is above",
    "下方统计截止到程序终止处；堆栈信息见上文",
)
_FAILED_FIX = Text("mend the error and run again", "修正该错误后重新运行")
_VALIDATION = Text(
    "{times} of {total} host-device syncs come from argument checks of torch.distributions",
    "{total} 次主机与设备同步中，有 {times} 次来自 torch.distributions 的参数校验",
)
_VALIDATION_CAUSE = Text(
    "a distribution tests its parameters with `if not ...all()`, which reads one number back from the "
    "device each time",
    "分布对象用 `if not ...all()` 校验参数，每次都要从设备读回一个数",
)
_VALIDATION_FIX = Text(
    "pass validate_args=False, or call torch.distributions.Distribution.set_default_validate_args(False) "
    "once; numbers stay the same, but invalid parameters then no longer raise ValueError",
    "传入 validate_args=False，或调用一次 torch.distributions.Distribution.set_default_validate_args(False)；"
    "数值不变，但参数非法时不再抛出 ValueError",
)
_VALIDATION_SOURCE = "https://docs.pytorch.org/docs/stable/distributions.html"


def findings(summary: dict[str, Any], outcome: Any) -> tuple[Finding, ...]:
    """Findings of one run, the program's own failure first."""
    found = []
    if outcome is not None and outcome.status:
        path, _, line = outcome.where.rpartition(":")
        found.append(Finding(
            "NPU401", "program-failed", Severity.ERROR, _FAILED, _FAILED_CAUSE,
            place=Place(path, int(line)) if line.isdigit() else None,
            params={"error": outcome.error or f"exit status {outcome.status}"},
            fixes=(Fix(_FAILED_FIX),),
        ))
    hidden = _validation(summary)
    if hidden is not None:
        found.append(hidden)
    return tuple(found)


def _validates(calls: list[str]) -> bool:
    return any(call.startswith(VALIDATION_FILES) for call in calls[1:])


def _validation(summary: dict[str, Any]) -> Finding | None:
    worst: tuple[int, dict[str, Any]] | None = None
    times = 0
    for line in summary["lines"]:
        here = sum(path["times"] for path in line["paths"] if _validates(path["calls"]))
        times += here
        if here and (worst is None or here > worst[0]):
            worst = (here, line)
    if worst is None:
        return None
    return Finding(
        "NPU402", "distribution-validation-syncs", Severity.NOTE, _VALIDATION, _VALIDATION_CAUSE,
        place=Place(worst[1]["path"], worst[1]["line"]),
        params={"times": times, "total": summary["totals"]["syncs"]},
        fixes=(Fix(_VALIDATION_FIX),), sources=(_VALIDATION_SOURCE,),
    )
