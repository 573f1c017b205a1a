"""The operator comparison: it passes on the CPU, and it fails when a number is wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from npudoctor import tables
from npudoctor.core.finding import Severity
from npudoctor.smoke_test.parity import LOW_PRECISION_RTOL, excess, judge
from npudoctor.smoke_test.stage import Context, Status
from npudoctor.smoke_test.stages import npu303_operator_parity as stage


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    """What a healthy device would send: every row in every type, one tenth of its tolerance off."""
    found = []
    for row in tables.load("ppo_ops").rows:
        for dtype in ["float32", *filter(None, row["low_precision"].split(","))]:
            error = float(row["rtol"]) / 10
            found.append(
                {
                    "event": "op",
                    "op": row["op"],
                    "dtype": dtype,
                    "rtol": float(row["rtol"]),
                    "forward": error,
                    "backward": error,
                }
            )
    return found


def change(
    events: list[dict[str, Any]], op: str, dtype: str = "float32", **fields: Any
) -> list[dict[str, Any]]:
    events = copy.deepcopy(events)
    next(e for e in events if e["op"] == op and e["dtype"] == dtype).update(fields)
    return events


def verdict(
    events: list[dict[str, Any]], fallen: tuple[str, ...] = ()
) -> tuple[Status, list[tuple[str, Severity]]]:
    outcome = judge("NPU303", events, fallen, strict=True, kind="npu")
    return outcome.status, [(f.slug, f.severity) for f in outcome.findings]


def test_healthy(events: list[dict[str, Any]]) -> None:
    assert verdict(events) == (Status.PASS, [])


@pytest.mark.parametrize("field", ["forward", "backward"])
def test_a_wrong_number_fails(events: list[dict[str, Any]], field: str) -> None:
    bad = change(events, "linear-9x64-b256", **{field: 2e-4})
    assert verdict(bad) == (Status.FAIL, [("operator-wrong", Severity.ERROR)])


def test_moving_data_must_be_exact(events: list[dict[str, Any]]) -> None:
    bad = change(events, "gather", forward=1e-9)
    assert verdict(bad)[0] is Status.FAIL
    assert excess({"forward": 0.0, "backward": None, "rtol": 0.0}) == 0.0


def test_an_operator_that_cannot_run_fails_first(events: list[dict[str, Any]]) -> None:
    bad = change(change(events, "tanh", forward=1.0), "lstm", error="RuntimeError: no kernel")
    assert verdict(bad) == (Status.FAIL, [("operator-missing", Severity.ERROR)])


def test_nan_is_wrong(events: list[dict[str, Any]]) -> None:
    assert verdict(change(events, "exp", forward=float("inf")))[0] is Status.FAIL


def test_a_missing_type_is_a_note_and_no_failure(events: list[dict[str, Any]]) -> None:
    none = [
        dict(e, error="RuntimeError: aclnnCast not implemented for DT_BFLOAT16")
        if e["dtype"] == "bfloat16"
        else e
        for e in events
    ]
    outcome = judge("NPU303", none, (), strict=True, kind="npu")
    assert outcome.status is Status.PASS
    assert [(f.slug, f.severity) for f in outcome.findings] == [("no-bfloat16", Severity.NOTE)]
    assert outcome.facts["dtypes"] == {
        "float32": True,
        "int64": True,
        "bool": True,
        "bfloat16": False,
        "float16": True,
    }


def test_a_loose_low_precision_is_a_warning_that_names_the_worst(events: list[dict[str, Any]]) -> None:
    limit = LOW_PRECISION_RTOL["bfloat16"]
    ops = [e["op"] for e in events if e["dtype"] == "bfloat16"][:2]
    at_limit = change(change(events, ops[0], "bfloat16", forward=limit), ops[1], "bfloat16", backward=limit)
    assert verdict(at_limit) == (Status.PASS, [])
    loose = change(at_limit, ops[0], "bfloat16", forward=limit * 2)
    loose = change(loose, ops[1], "bfloat16", backward=limit * 3)
    outcome = judge("NPU303", loose, (), strict=True, kind="npu")
    assert outcome.status is Status.PASS
    assert [(f.slug, f.severity) for f in outcome.findings] == [("loose-bfloat16", Severity.WARNING)]
    assert (outcome.findings[0].params["count"], outcome.findings[0].params["first"]) == (2, ops[1])


def test_one_operator_without_a_type_is_a_gap_of_that_operator(events: list[dict[str, Any]]) -> None:
    (op, *_) = [e["op"] for e in events if e["dtype"] == "float16"]
    some = change(events, op, "float16", error="RuntimeError: not implemented for Half")
    outcome = judge("NPU303", some, (), strict=True, kind="npu")
    assert [f.slug for f in outcome.findings] == ["some-float16"]
    assert outcome.findings[0].params["first"] == op


def test_an_error_at_its_tolerance_passes_and_a_machine_is_only_blamed_where_there_is_one(
    events: list[dict[str, Any]],
) -> None:
    rtol = next(e["rtol"] for e in events if e["op"] == "tanh")
    assert verdict(change(events, "tanh", forward=rtol)) == (Status.PASS, [])
    for bad in (change(events, "tanh", forward=1.0), change(events, "tanh", error="RuntimeError: x")):
        judged = (judge("NPU303", bad, (), strict=True, kind=kind) for kind in ("npu", "cpu"))
        on_npu, on_cpu = (outcome.findings[0] for outcome in judged)
        assert [c for fix in on_npu.fixes for c in fix.commands] == ["npudoctor check"]
        assert on_cpu.fixes == ()


def test_what_is_not_simulated_is_said_and_fails_nothing(events: list[dict[str, Any]]) -> None:
    lacking = change(events, "lstm", error="NotImplementedError: exists in torch_npu and is not simulated")
    outcome = judge("NPU303", lacking, (), strict=True, kind="sim")
    assert (outcome.status, [f.slug for f in outcome.findings]) == (Status.PASS, ["not-simulated"])
    assert judge("NPU303", lacking, (), strict=True, kind="npu").status is Status.FAIL


def test_fallback_is_a_warning_about_these_operators_only(events: list[dict[str, Any]]) -> None:
    status, findings = verdict(events, ("std",))
    assert (status, findings) == (Status.PASS, [("cpu-fallback", Severity.WARNING)])
    finding = judge("NPU303", events, ("std",), strict=True, kind="npu").findings[0]
    assert "Only these operators" in finding.cause.render("en", finding.params)
    assert "sync" in finding.cause.render("en", finding.params)


def test_every_row_runs_on_the_cpu_and_agrees_with_float64(context: Context) -> None:
    pytest.importorskip("torch")
    outcome = stage.run(context)
    assert outcome.status is Status.PASS, outcome.findings
    assert outcome.facts["operators"] == len(tables.load("ppo_ops").rows) > 50
    assert outcome.findings == ()


def test_a_wrong_kernel_is_caught(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row computes float32 differently from float64: the comparison must see it."""
    pytest.importorskip("torch")
    table = tables.load("ppo_ops")
    row = dict(
        table.rows[0],
        op="planted",
        inputs="x=n:64",
        low_precision="",
        expression="x * (1.001 if x.dtype == torch.float32 else 1.0)",
    )
    monkeypatch.setattr(
        stage.tables, "load", lambda name: tables.Table(name, table.date, table.columns, (row,))
    )
    outcome = stage.run(context)
    assert outcome.status is Status.FAIL
    assert "planted" in outcome.summary.render("en")
