"""Stage 4: the whole algorithm, tiny, on the CPU; the importance ratio must start at 1."""

from __future__ import annotations

from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, passed
from npudoctor.smoke_test.training import TINY, fail_on, finished, first_ratio, gate, train

_CODE = "NPU304"
_TIMEOUT_S = 120.0

_PASSED = Text(
    "{steps} steps, one environment, {updates} updates; |log ratio| at most {ratio:.0e} before a step",
    "{steps} 步、单环境、{updates} 次更新；更新前 |log ratio| 不超过 {ratio:.0e}",
)


def run(context: Context) -> Outcome:
    """Train 200 steps on the CPU; the losses stay for the comparison with the device."""
    child = train(context, "cpu", TINY, timeout_s=_TIMEOUT_S)
    runs = finished(child)
    if not runs:
        return causes.no_result(_CODE, child, context)
    only = runs[0]
    facts = {
        "steps": only.end["steps"],
        "updates": len(only.updates),
        "ratio": first_ratio(only),
        "losses": only.losses(),
    }
    findings = tuple(gate(_CODE, only, "cpu"))
    context.notes["cpu_losses"] = only.losses()
    return fail_on(findings, child, facts) or passed(_PASSED, facts, findings=findings, facts=facts)


STAGE = Stage(code=_CODE, slug="algorithm-cpu", title=Text("algorithm on the CPU", "CPU 上的算法"), run=run)
