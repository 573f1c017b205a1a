"""Stage 10: a real export of a real checkpoint, and a difference that it must see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from npudoctor.smoke_test import child
from npudoctor.smoke_test.stage import Context, Outcome, Status
from npudoctor.smoke_test.stages import npu310_export as stage
from npudoctor.smoke_test.training import train


def test_only_when_asked_for(context: Context) -> None:
    assert stage.wanted(context) is not None
    context.plan = replace(context.plan, export=True)
    assert stage.wanted(context) is None


def test_a_real_export(context: Context) -> None:
    for name in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(name)
    options = (
        "--total-steps",
        "512",
        "--rollout-steps",
        "512",
        "--num-envs",
        "8",
        "--eval-episodes",
        "2",
        "--checkpoint",
        str(context.folder / "checkpoint.pt"),
    )
    assert train(context, "cpu", options, timeout_s=120.0).ended_well
    context.plan = replace(context.plan, quick=True)
    outcome = stage.run(context)
    assert outcome.status is Status.PASS, outcome.log
    assert outcome.facts["opset"] == 17
    assert 0 <= outcome.facts["worst"] <= 1e-5


Judge = Callable[..., Outcome]


@pytest.fixture
def judge(context: Context, monkeypatch: pytest.MonkeyPatch) -> Judge:
    def of(random: float, loop: float) -> Outcome:
        event = {
            "event": "exported",
            "opset": 17,
            "bytes": 9,
            "limit": 1e-5,
            "errors": {"random": random},
            "loop": {"difference": loop},
        }
        run = child.ChildRun((), (event,), (), 0, False, 1.0)
        monkeypatch.setattr(stage.child, "run", lambda *a, **k: run)
        return stage.run(context)

    return of


@pytest.mark.parametrize(
    ("random", "loop", "slugs"),
    [
        (3e-7, 4e-7, []),
        (2e-5, 4e-7, ["onnx-differs"]),
        (3e-7, 1e-2, ["onnx-differs"]),
        (float("nan"), 1e-7, ["onnx-differs"]),
        (1e-7, float("nan"), ["onnx-differs"]),
    ],
)
def test_a_difference_is_seen(judge: Judge, random: float, loop: float, slugs: list[str]) -> None:
    assert [f.slug for f in judge(random, loop).findings] == slugs


def test_without_a_checkpoint_it_fails_clearly(context: Context) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    outcome = stage.run(context)
    assert outcome.status is Status.FAIL
    assert "no such checkpoint" in outcome.summary.render("en")
