"""The forms that versions of torch_npu and CANN write (fixtures/profiles), of the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("ijson")

from npudoctor.profile import cells, chrome
from npudoctor.profile.analyse import analyse
from npudoctor.profile.folder import Communication, statistics
from npudoctor.profile.model import Builder
from npudoctor.profile.readers import read, total_bytes
from npudoctor.profile.verdict import judge
from tests.conftest import FIXTURES
from tests.profile import traces

PROFILES = FIXTURES / "profiles"


def test_every_form_is_read() -> None:
    forms = [path for path in PROFILES.iterdir() if path.is_dir()]
    assert len(forms) == 5
    for path in forms:
        assert len(read(path).columns), path
        assert read(path).form == "ascend"
        assert total_bytes(path) > 0


def test_level1_names_behind_the_events_and_core_from_the_table() -> None:
    trace = read(PROFILES / "level1_two_cards")
    analysis = analyse(trace)
    assert analysis.has_device
    assert analysis.launches == 6
    assert analysis.sync_count == 6
    assert analysis.syncs[0].where.line == "train.py:21"
    assert judge(analysis).extra["verdict"] == "sync-bound"


def test_level1_tables() -> None:
    summed = statistics(PROFILES / "level1_two_cards")
    assert summed.steps == ((450.0, 40.0, 410.0),)
    assert summed.operators[0] == ("Cumsum", "AI_CPU", 1, 300.0)
    assert summed.apis[0] == ("acl", "aclrtSynchronizeStreamWithTimeout", 6, 162.0)
    talk = summed.communication
    assert talk is not None
    assert (talk.calls, round(talk.elapsed), round(talk.transit), round(talk.wait)) == (2, 50, 10, 40)
    data = json.loads(json.dumps(summed.as_data()))
    assert data["communication"]["calls"] == 2
    facts = {f.key: f for f in judge(analyse(read(PROFILES / "level1_two_cards")), summed).facts}
    assert facts["communication"].words("en") == "2 x, 0.1 ms, 80% of it waiting"
    assert "其中等待占 80%" in facts["communication"].words("zh")
    assert facts["api_statistic"].words("en").startswith("aclrtSynchronizeStreamWithTimeout 0.2 ms (6 x)")


def test_level0_without_types_and_cores() -> None:
    analysis = analyse(read(PROFILES / "level0"))
    assert analysis.launches == 7
    assert analysis.busy_us == pytest.approx(450.0)
    assert {o.name for o in analysis.by_time} == {"aclnnMul_MulAiCore_Mul", "aclnnCumsum_CumsumAiCpu_Cumsum"}
    assert [o.name for o in analysis.aicpu] == ["aclnnCumsum_CumsumAiCpu_Cumsum"], "by its name"
    summed = statistics(PROFILES / "level0")
    assert summed.steps == ((450.0, 0.0, 490.0),)
    assert summed.operators[0] == ("Cumsum", "AI_CPU", 1, 300.0)


def test_a_file_that_was_never_closed_is_read_as_far_as_it_goes() -> None:
    trace = read(PROFILES / "stopped")
    assert trace.cut
    analysis = analyse(trace)
    assert analysis.sync_count == 6
    facts = {f.key: f.words("en") for f in judge(analysis).facts}
    assert "stopped before it was done" in facts["cut"]


def test_a_whole_file_is_not_called_cut(tmp_path: Path) -> None:
    trace = read(traces.write(tmp_path / "t.json", traces.ascend_trace(traces.launch_bound(3))))
    assert not trace.cut
    assert "cut" not in {f.key for f in judge(analyse(trace)).facts}


def test_rubbish_in_the_middle_is_no_end(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":1,"ts":1,"dur":1} rubbish {}]')
    with pytest.raises(chrome.NotATrace):
        chrome.read(path, lambda _: None, {})


def test_msprof_folders_of_cann() -> None:
    trace = read(PROFILES / "msprof")
    assert Path(trace.source).name.startswith("msprof_2")
    analysis = analyse(trace)
    assert (analysis.launches, analysis.sync_count) == (6, 6)
    summed = statistics(PROFILES / "msprof")
    assert summed.operators == (("Mul", "AI_VECTOR_CORE", 6, 150.0),)
    assert summed.apis == (("AscendCL", "aclnnMul", 6, 18.0),)


def test_old_op_summary() -> None:
    analysis = analyse(read(PROFILES / "msprof_old"))
    assert analysis.busy_us == pytest.approx(450.0)
    assert [o.name for o in analysis.aicpu] == ["Cumsum"]


def test_times_since_1970_keep_their_nanoseconds() -> None:
    """One float for microseconds since 1970 is a multiple of 0.25."""
    builder = Builder()
    times = [f"1764500000000000.{n:03d}" for n in (0, 1, 125, 999)]
    assert [builder.since_first(t) for t in times] == pytest.approx([0.0, 0.001, 0.125, 0.999], abs=1e-9)
    assert Builder().since_first(5) == 0.0
    for wrong in (None, "soon", [], float("nan"), float("inf"), 1e30):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            Builder().since_first(wrong)


def test_gaps_below_a_quarter_microsecond_are_seen(tmp_path: Path) -> None:
    base = 1_764_500_000_000_000
    events = [traces.kernel(0, 0.1, "a"), traces.kernel(0.2, 0.1, "b")]
    body = traces.ascend_trace(events)
    for event, offset in zip(body[-2:], (".000", ".200")):
        event["ts"] = f"{base}{offset}"
    analysis = analyse(read(traces.write(tmp_path / "t.json", body)))
    assert analysis.idle_us == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize(
    ("header", "name", "number"),
    [
        ("Start Time(us)", "starttime", 7.0),
        ("Task Start Time(us)", "taskstarttime", 7.0),
        ("Total Time(μs)", "totaltime", 7.0),
        ("Total Time(µs)", "totaltime", 7.0),
        ("Elapse Time(ms)", "elapsetime", 7000.0),
        ("Task Start Time(ns)", "taskstarttime", 0.007),
        ("Communication (Not Overlapped)", "communication(notoverlapped)", 7.0),
        ("Device ID", "deviceid", 7.0),
        ("Device_id", "deviceid", 7.0),
        ("Ratio(%)", "ratio(%)", 7.0),
    ],
)
def test_columns_by_any_of_their_names(tmp_path: Path, header: str, name: str, number: float) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"\ufeff{header},other\n7\t,x\n", encoding="utf-8")
    (row,) = cells.rows(path)
    assert row.number(name) == pytest.approx(number)


def test_damaged_tables_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "api_statistic.csv").write_bytes(
        b"Level,API Name,Time(us),Count\nacl,a,nan,1\nacl,b,1\n\0\xff,,\n"
    )
    (tmp_path / "communication.json").write_text(
        '{"step": {"collective": {"a": {"Communication Time Info": {"El'
    )
    (tmp_path / "op_statistic.csv").write_text("")
    summed = statistics(tmp_path)
    assert (summed.apis, summed.communication, summed.operators) == ((), None, ())


def test_communication_of_one_rank_without_steps(tmp_path: Path) -> None:
    times = {"Elapse Time(ms)": 2, "Transit Time(ms)": 1, "Wait Time(ms)": 0.5}
    body = {"hcom_broadcast__1_0_1@2": {"Communication Time Info": times}}
    (tmp_path / "communication.json").write_text(json.dumps(body))
    assert statistics(tmp_path).communication == Communication(1, 2000.0, 1000.0, 500.0)


def test_words_after_a_trace_are_not_dropped(run_cli) -> None:
    done = run_cli("profile", PROFILES / "level0", "more.json")
    assert done.returncode == 2
    assert "more.json" in done.stderr
    assert run_cli("profile", PROFILES / "level0", "--no-such").returncode == 2


def test_marks_are_found_among_the_operators_of_torch_npu(tmp_path: Path) -> None:
    events = [
        traces.host_op(0, 100, "ProfilerStep#1"),
        traces.host_op(1, 40, "env"),
        traces.host_op(50, 20, "npudoctor.sync item train.py:21"),
        traces.host_op(51, 10, "aten::item"),
        traces.kernel(60, 9, "Mul"),
        traces.host_op(100, 100, "ProfilerStep#2"),
    ]
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(traces.ascend_trace(events)))
    analysis = analyse(read(path))
    assert [step.name for step in analysis.steps] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert analysis.phases["env"] == pytest.approx(40)
    assert [(s.where.line, s.count) for s in analysis.syncs] == [("train.py:21", 1)]
