"""Stage 7: does it learn? 90% success of the deterministic policy within a stated budget."""

from __future__ import annotations

from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed
from npudoctor.smoke_test.training import (
    LEARNING_STEPS,
    LEARNING_TARGET,
    Run,
    fail_on,
    finished,
    first_ratio,
    gate,
    learning_options,
    learning_seconds,
    number,
    train,
)

_CODE = "NPU307"
_PASSED = Text(
    "{success:.0%} success after {steps} steps and {seconds:.1f} s (budget {budget} steps, {limit} s)",
    "{steps} 步、{seconds:.1f} 秒后成功率 {success:.0%}（预算 {budget} 步、{limit} 秒）",
)
_FAILED_TITLE = Text(
    "{success:.0%} success after {steps} steps and {seconds:.0f} s; {target:.0%} was the aim",
    "{steps} 步、{seconds:.0f} 秒后成功率仅 {success:.0%}，目标为 {target:.0%}",
)
_SLOW_CAUSE = Text(
    "the time budget of {limit} s was over first, at {rate:.0f} steps/s; the numbers of the run were sound",
    "{limit} 秒的时间预算先用尽（{rate:.0f} 步/秒）；训练数值本身正常",
)
_SLOW_FIX = Text("see where the time goes, or give it more", "查看时间花在何处，或放宽时限")
_FLAT_CAUSE = Text(
    "the operators, losses and ratio were right in the stages before, yet {budget} steps did not suffice. "
    "Explained "
    "variance at the end: {explained:.2f}; approximate KL: {kl:.1e}; entropy: {entropy:.2f}",
    "此前各阶段的算子、损失与比率均正确，但 {budget} 步仍未学会。结束时解释方差 {explained:.2f}，近似 KL "
    "{kl:.1e}，熵 {entropy:.2f}",
)
_FLAT_FIX = Text(
    "try another seed; if that fails too, compare with --device cpu",
    "换一个种子；若仍失败，与 --device cpu 的结果比较",
)


def run(context: Context) -> Outcome:
    """Train until the target or the end of the budget."""
    limit = learning_seconds(context)
    child = train(context, context.kind, learning_options(context), timeout_s=limit + 120.0)
    runs = finished(child)
    if not runs:
        return causes.no_result(_CODE, child, context)
    only = runs[0]
    facts = _facts(only, limit)
    findings = tuple(gate(_CODE, only, context.kind))
    outcome = fail_on(findings, child, facts)
    if outcome is not None:
        return outcome
    if facts["success"] >= LEARNING_TARGET:
        return passed(_PASSED, facts, findings=findings, facts=facts)
    finding = _not_learnt(facts, context.plan.seed)
    return failed(Phrase(_FAILED_TITLE, facts), finding, child, findings=findings, facts=facts)


def _facts(run: Run, limit: int) -> dict[str, Any]:
    health = run.updates[-1]["health"]
    return {
        "success": number(run.end["success_rate"]),
        "steps": run.end["steps"],
        "seconds": run.end["seconds"],
        "budget": LEARNING_STEPS,
        "limit": limit,
        "target": LEARNING_TARGET,
        "reason": run.end["reason"],
        "rate": run.end["steps"] / max(run.end["seconds"], 1e-9),
        "ratio": first_ratio(run),
        "explained": number(health["explained_variance"]),
        "kl": number(health["approx_kl"]),
        "entropy": number(health["entropy"]),
        "curve": [[u["steps"], u["return"]] for u in run.updates],
    }


def _not_learnt(facts: dict[str, Any], seed: int) -> Finding:
    """Too slow for its time, or not learnt within the steps."""
    slow = facts["reason"] == "max-seconds"
    again = "npudoctor smoke-test --slower 4" if slow else f"npudoctor smoke-test --seed {seed + 1}"
    return Finding(
        _CODE,
        "too-slow" if slow else "not-learnt",
        Severity.ERROR,
        _FAILED_TITLE,
        _SLOW_CAUSE if slow else _FLAT_CAUSE,
        params=facts,
        fixes=(Fix(_SLOW_FIX if slow else _FLAT_FIX, (again,)),),
    )


STAGE = Stage(
    code=_CODE,
    slug="learning",
    title=Text("learning", "学习"),
    run=run,
    next_command="npudoctor smoke-test --seed 2",
)
