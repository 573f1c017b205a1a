"""The verdict and the planted line, on each variant of a device trace in torch_npu's form."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("ijson")

from npudoctor.core.finding import Severity
from npudoctor.profile.analyse import analyse
from npudoctor.profile.readers import read
from npudoctor.profile.verdict import all_bounds, judge, speedup, split_of
from tests.profile import traces

VARIANTS = [
    ("launch-bound", traces.launch_bound, "train.py:12"),
    ("sync-bound", traces.sync_bound, "train.py:21"),
    ("env-bound", traces.env_bound, None),
    ("transfer-bound", traces.transfer_bound, "rollout.py:33"),
    ("compute-bound", traces.compute_bound, None),
]


@pytest.mark.parametrize(("verdict", "make", "line"), VARIANTS, ids=[v[0] for v in VARIANTS])
def test_each_variant_gets_its_verdict_and_line(tmp_path: Path, verdict, make, line) -> None:
    trace = read(traces.write(tmp_path / "trace_view.json", traces.ascend_trace(make())))
    assert trace.form == "ascend"
    assert trace.has_device
    report = judge(analyse(trace))
    assert report.extra["verdict"] == verdict
    assert report.findings[0].slug == verdict
    if line is not None:
        places = [e.place for e in report.findings[0].evidence]
        assert line in places or str(report.findings[0].place) == line


def test_busy_and_idle_fill_the_window(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "trace_view.json", traces.ascend_trace(traces.sync_bound(10)))
    analysis = analyse(read(path))
    assert analysis.busy_us == pytest.approx(10 * 25)
    assert analysis.busy_us + analysis.idle_us == pytest.approx(analysis.window_us)
    assert sum(analysis.idle_by_cause.values()) == pytest.approx(analysis.idle_us)
    assert sum(analysis.phases.values()) == pytest.approx(analysis.window_us)
    assert analysis.sync_count == 10
    assert analysis.launches == 10
    assert sum(count for _, count, _ in analysis.gap_histogram) == 11


def test_an_item_on_a_host_tensor_is_no_sync(tmp_path: Path) -> None:
    """Optimisers read their step count with `.item()`; nothing waits on the device then."""
    events = traces.launch_bound(20)
    events += [traces.host_op(i * 40 + 31, 0.5, "aten::item") for i in range(20)]
    analysis = analyse(read(traces.write(tmp_path / "t.json", traces.ascend_trace(events))))
    assert analysis.sync_count == 0


def test_advice_comes_in_the_order_in_which_it_pays() -> None:
    slugs = [b.slug for b in all_bounds()]
    assert slugs == ["env-bound", "transfer-bound", "sync-bound", "launch-bound", "compute-bound"]


def test_amdahl_bound() -> None:
    assert speedup(0.5) == pytest.approx(2.0)
    assert speedup(0.0) == pytest.approx(1.0)
    assert speedup(1.0) <= 1000.0


def test_aicpu_kernels_are_named(tmp_path: Path) -> None:
    events = [*traces.compute_bound(5), traces.kernel(2000, 300, "aclnnCumsum_CumsumAiCpu_Cumsum")]
    report = judge(analyse(read(traces.write(tmp_path / "t.json", traces.ascend_trace(events)))))
    aicpu = [f for f in report.findings if f.code == "NPU506"]
    assert aicpu
    assert aicpu[0].severity is Severity.WARNING
    assert "CumsumAiCpu" in str(aicpu[0].params["names"])


def test_split_never_exceeds_the_window(tmp_path: Path) -> None:
    for _, make, _ in VARIANTS:
        analysis = analyse(read(traces.write(tmp_path / "t.json", traces.ascend_trace(make()))))
        assert split_of(analysis).total == pytest.approx(analysis.window_us, rel=1e-6)


def test_steps_and_bytes(tmp_path: Path) -> None:
    events = traces.transfer_bound(4)
    for event in events:
        if event["name"] == "MEMCPY_ASYNC":
            event["args"]["size(B)"] = 1024
    for i in range(2):
        mark = traces.frame(i * 160.0, 160.0, f"ProfilerStep#{i}")
        events.append({**mark, "cat": "user_annotation"})
    analysis = analyse(read(traces.write(tmp_path / "t.json", traces.ascend_trace(events))))
    assert analysis.copied_bytes == 4096
    assert [s.name for s in analysis.steps] == ["ProfilerStep#0", "ProfilerStep#1"]
    assert [round(s.busy_us) for s in analysis.steps] == [130, 130]
    assert [round(s.window_us) for s in analysis.steps] == [160, 160]


def test_rates_and_parts_of_a_gap(tmp_path: Path) -> None:
    """Idle for 170 us: an environment step of 80, 20 around a copy that the host waits for, and a launch."""
    events = [
        traces.kernel(0, 10, "a"), traces.frame(20, 80, "gymnasium/vector/sync_vector_env.py(210): step"),
        traces.host_op(120, 50, "aten::copy_"), traces.kernel(130, 30, "MEMCPY_ASYNC"),
        traces.host_op(180, 20, "aten::add"), traces.runtime(185, 3, "AscendCL@aclnnAdd"),
        traces.kernel(210, 10, "b"),
    ]  # fmt: skip
    analysis = analyse(read(traces.write(tmp_path / "t.json", traces.ascend_trace(events))))
    assert (analysis.busy_us, analysis.idle_us) == pytest.approx((50, 170))
    assert analysis.idle_by_cause == pytest.approx({"env": 80, "transfer": 20, "sync": 0, "launch": 70})
    assert analysis.launch_rate == pytest.approx(analysis.launches / analysis.window_us * 1e6)
    assert analysis.launches > 0
