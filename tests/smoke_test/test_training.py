"""The gates on a training run: each provoked fault is named, a healthy run passes in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from npudoctor.core.finding import Severity
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.stage import Context, Status
from npudoctor.smoke_test.stages.npu305_algorithm_device import compare
from npudoctor.smoke_test.stages.npu308_checkpoint import differs
from npudoctor.smoke_test.timings import article, ms_per_step, verdict
from npudoctor.smoke_test.training import (
    RATIO_BROKEN,
    RATIO_EXACT,
    TINY,
    Run,
    fail_on,
    finished,
    gate,
    runs_of,
    train,
)

HEALTH = {
    "policy_loss": -0.01,
    "value_loss": 0.5,
    "entropy": 2.8,
    "approx_kl": 0.008,
    "first_log_ratio": 2e-6,
    "non_finite": 0.0,
    "grad_norm": 0.6,
}
TIME = {"env": 0.1, "inference": 0.2, "transfer": 0.05, "update": 0.5, "other": 0.15, "total": 1.0}


def update(number: int, **health: Any) -> dict[str, Any]:
    return {
        "event": "update",
        "update": number,
        "steps": 100 * number,
        "time": TIME,
        "vector_steps": 100,
        "device_to_host": 100,
        "return": -1.0,
        "health": {**HEALTH, **health},
    }


def run(*updates: dict[str, Any], device: str = "npu:0") -> Run:
    return Run({"event": "start", "device": device}, updates or (update(1), update(2)), {"event": "end"})


def codes(run: Run, kind: str = "npu") -> list[str]:
    return [f.slug for f in gate("NPU305", run, kind)]


def test_healthy_runs_are_silent() -> None:
    assert codes(run()) == []
    assert codes(run(device="cpu"), "cpu") == []
    # At the first update the small policy head hides faults; it is not judged.
    assert codes(run(update(1, first_log_ratio=0.5), update(2))) == []


@pytest.mark.parametrize(
    ("make", "slug"),
    [
        (lambda: run(device="cpu"), "wrong-device"),
        (lambda: run(update(1), update(2, first_log_ratio=0.28)), "ratio-broken"),
        (lambda: run(update(1), update(2, first_log_ratio=4e-3)), "ratio-loose"),
        (lambda: run(update(1), update(2, first_log_ratio=None)), "ratio-broken"),
        (lambda: run(update(1), update(2, non_finite=3.0)), "non-finite"),
        (lambda: run(update(1), dict(update(2), device_to_host=300)), "extra-transfers"),
    ],
)
def test_each_fault_has_its_name(make: Callable[[], Run], slug: str) -> None:
    assert codes(make()) == [slug]


def test_the_cpu_has_no_excuse_for_a_loose_ratio() -> None:
    loose = run(update(1), update(2, first_log_ratio=4e-3), device="cpu")
    assert codes(loose, "cpu") == ["ratio-broken"]


def test_the_limits_of_the_ratio_are_still_good() -> None:
    for limit, kind, device in ((RATIO_EXACT, "cpu", "cpu"), (RATIO_EXACT, "npu", "npu:0")):
        assert codes(run(update(1), update(2, first_log_ratio=limit), device=device), kind) == []
    assert codes(run(update(1), update(2, first_log_ratio=RATIO_BROKEN))) == ["ratio-loose"]


def test_a_stage_fails_with_its_first_error_and_keeps_the_other_findings() -> None:
    warned = list(gate("NPU305", run(update(1), update(2, first_log_ratio=4e-3)), "npu"))
    child = ChildRun((), (), (), 0, False, 1.0)
    assert fail_on(warned, child, {}) is None
    broken = list(gate("NPU305", run(update(1), update(2, non_finite=3.0)), "npu"))
    outcome = fail_on([*warned, *broken], child, {"updates": 2})
    assert outcome is not None
    assert outcome.status is Status.FAIL
    assert [f.slug for f in outcome.findings] == ["non-finite", "ratio-loose"]
    assert outcome.facts["updates"] == 2


def test_losses_are_compared_within_two_percent() -> None:
    here, there = run().losses(), run(update(1), update(2, value_loss=0.505)).losses()
    assert compare(here, there)["excess"] < 1
    worst = compare(here, run(update(1), update(2, value_loss=0.55)).losses())
    assert (worst["update"], worst["name"]) == (2, "value_loss")
    assert worst["excess"] > 1
    nan = run(update(1, value_loss=None), update(2)).losses()
    assert compare(here, nan)["excess"] == float("inf")
    assert compare(here, here[:1])["excess"] == float("inf")


def test_resume_must_be_exact_on_the_cpu() -> None:
    here = run().losses()
    assert differs(here, here, 0.0) == {}
    assert differs(here, run(update(1), update(2, entropy=2.8000001)).losses(), 0.0)["name"] == "entropy"
    assert differs(here, here[:1], 0.0)["name"] == "updates"


def test_only_complete_runs_count() -> None:
    events = (
        {"event": "start", "device": "cpu"},
        update(1),
        {"event": "end", "reason": "total-steps"},
        {"event": "start", "device": "cpu"},
        update(1),
        {"event": "end", "reason": "error", "error": "x"},
        {"event": "start", "device": "cpu"},
        update(1),
    )
    assert len(runs_of(ChildRun((), events, (), 0, False, 1.0))) == 1


def test_warm_up_is_not_counted() -> None:
    slow = dict(update(1), time={**TIME, "total": 99.0, "update": 98.0})
    times = ms_per_step(run(slow, update(2)))
    assert times["total"] == pytest.approx(10.0)
    assert times["update"] == pytest.approx(5.0)
    assert "50%" in verdict(times, times).render("en")


def test_the_article_rows_are_marked_as_its_own() -> None:
    rows = article()
    assert [row["ms_per_step"] for row in rows] == [35.0, 10.0, 7.0]


def alarm(rule: str, severity: str) -> dict[str, Any]:
    words = {"en": "English {braces} kept", "zh": "中文"}
    return {
        "event": "health",
        "update": 3,
        "rule": rule,
        "severity": severity,
        "what": words,
        "remedy": words,
    }


def test_the_runs_own_rules_are_heard_once() -> None:
    noisy = Run(
        {"event": "start", "device": "npu:0"},
        (update(1), update(2)),
        {"event": "end"},
        (alarm("kl-too-high", "warning"), alarm("ratio-imprecise", "warning"), alarm("other", "error")),
    )
    found = list(gate("NPU307", noisy, "npu"))
    assert [(f.slug, f.severity.value) for f in found] == [
        ("health-kl-too-high", "warning"),
        ("health-other", "error"),
    ]
    assert found[0].title.render("en", found[0].params) == "English {braces} kept"


def test_a_run_stopped_by_a_rule_has_a_verdict() -> None:
    start, end = {"event": "start", "device": "cpu"}, {"event": "end", "reason": "fault"}
    events = (start, update(1, non_finite=2.0), alarm("non-finite", "error"), end)
    runs = finished(ChildRun((), events, (), 1, False, 1.0))
    assert [f.slug for f in gate("NPU304", runs[0], "cpu")] == ["non-finite"]
    assert finished(ChildRun((), events[:3], (), 1, False, 1.0)) == []
    assert (
        finished(
            ChildRun((), (start, update(1), {"event": "end", "reason": "total-steps"}), (), -9, False, 1.0)
        )
        == []
    )


def test_a_real_run_that_breaks_is_stopped_and_named(context: Context) -> None:
    """A reward bonus of NaN is not needed: a learning rate of 1e30 makes weights that are not numbers."""
    pytest.importorskip("torch")
    context.plan = replace(context.plan, quick=True)
    try:
        child = train(context, "cpu", (*TINY, "--lr", "1e30", "--total-steps", "400"), timeout_s=120.0)
    finally:
        context.close()
    runs = finished(child)
    assert runs, child.log
    assert any(f.severity is Severity.ERROR for f in gate("NPU304", runs[0], "cpu"))
