"""Stage 6: where a step spends its time, with one environment and with a batch of them."""

from __future__ import annotations

from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, passed
from npudoctor.smoke_test.timings import blocks, ms_per_step, verdict
from npudoctor.smoke_test.training import fail_on, finished, gate, train

_CODE = "NPU306"
_TIMEOUT_S = 300.0
BATCH = 32

_PASSED = Text(
    "{one:.3g} ms per step with one environment, {batched:.3g} ms with {envs}: {ratio:.1f}x",
    "单环境每步 {one:.3g} 毫秒，{envs} 个环境每步 {batched:.3g} 毫秒：{ratio:.1f} 倍",
)


def run(context: Context) -> Outcome:
    """Two short runs in one child; the first update of each warms up and is not counted."""
    updates = 2 if context.plan.quick else 4
    one, many = _options(1, 256, updates), _options(BATCH, 2048, updates)
    child = train(context, context.kind, one, many, timeout_s=_TIMEOUT_S)
    runs = finished(child, 2)
    if not runs:
        return causes.no_result(_CODE, child, context)
    findings = tuple(f for r in runs for f in gate(_CODE, r, context.kind))
    if len(runs) < 2:
        return fail_on(findings, child, {}) or causes.no_result(_CODE, child, context)
    single, batched = ms_per_step(runs[0]), ms_per_step(runs[1])
    facts = {
        "one": single["total"],
        "batched": batched["total"],
        "envs": BATCH,
        "ratio": single["total"] / batched["total"],
        "one_ms": single,
        "batched_ms": batched,
        "counted_updates": updates - 1,
    }
    outcome = fail_on(findings, child, facts)
    if outcome is not None:
        return outcome
    drawn = blocks(single, batched, BATCH, context.device)
    return passed(
        _PASSED,
        facts,
        facts={**facts, "verdict": verdict(single, batched).render("en")},
        findings=findings,
        blocks=drawn,
    )


def _options(envs: int, rollout: int, updates: int) -> tuple[str, ...]:
    return (
        "--num-envs",
        str(envs),
        "--rollout-steps",
        str(rollout),
        "--total-steps",
        str(rollout * updates),
        "--eval-episodes",
        "2",
    )


STAGE = Stage(code=_CODE, slug="stage-timings", title=Text("stage timings", "各阶段耗时"), run=run)
