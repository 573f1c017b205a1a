"""The collective check: two real processes over gloo, and wrong numbers that it must see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from npudoctor.smoke_test import child
from npudoctor.smoke_test.stage import Context, Device, Outcome, Status
from npudoctor.smoke_test.stages import npu309_collective as stage


def test_not_asked_for_and_not_simulated(context: Context) -> None:
    assert stage.wanted(context) is not None
    context.plan = replace(context.plan, nproc=2)
    assert stage.wanted(context) is None
    context.device = Device("sim", "simulated NPU")
    assert stage.wanted(context) is not None


def test_several_hosts_go_to_torchrun_as_they_are(context: Context) -> None:
    context.plan = replace(context.plan, nproc=8, nnodes=2, node_rank=1, rdzv_endpoint="10.0.0.1:29500")
    words = stage.command(context)
    assert words[1:11] == [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "8",
        "--nnodes",
        "2",
        "--node-rank",
        "1",
        "--rdzv-endpoint",
        "10.0.0.1:29500",
    ]
    assert "--standalone" not in words


def test_two_processes(context: Context) -> None:
    pytest.importorskip("torch")
    context.plan = replace(context.plan, nproc=2)
    outcome = stage.run(context)
    assert outcome.status is Status.PASS, outcome.log
    assert outcome.facts["sum"] == 3.0
    assert outcome.facts["ranks"] == 2


Judge = Callable[..., Outcome]


@pytest.fixture
def judge(context: Context, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """The stage's verdict on made-up rank events."""
    context.plan = replace(context.plan, nproc=2)

    def of(*ranks: dict[str, object]) -> Outcome:
        run = child.ChildRun((), tuple({"event": "rank", **r} for r in ranks), (), 0, False, 1.0)
        monkeypatch.setattr(stage.child, "run", lambda *a, **k: run)
        return stage.run(context)

    return of


def rank(number: int, **fields: object) -> dict[str, object]:
    good = {
        "rank": number,
        "size": 2,
        "backend": "gloo",
        "device": "cpu",
        "sum": [3.0] * 4,
        "expected": 3.0,
        "difference": 1e-7,
        "spread": 0.0,
        "repeat_ms": 0.2,
    }
    return {**json.loads(json.dumps(good)), **fields}


@pytest.mark.parametrize(
    ("ranks", "slug"),
    [
        ((rank(0), rank(1)), None),
        ((rank(0), rank(1, sum=[3.0, 3.0, 2.0, 3.0])), "collective-wrong"),
        ((rank(0), rank(1, difference=1e-3)), "collective-wrong"),
        ((rank(0), rank(1, spread=1e-7)), "collective-wrong"),
        ((rank(0),), "ranks-missing"),
        ((), "no-result"),
    ],
)
def test_wrong_numbers_are_seen(judge: Judge, ranks: tuple[dict[str, object], ...], slug: str | None) -> None:
    outcome = judge(*ranks)
    assert [f.slug for f in outcome.findings] == ([slug] if slug else [])
