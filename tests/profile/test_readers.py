"""Every form reads; everything else gives one sentence."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("ijson")

from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.core.errors import UserError
from npudoctor.profile.analyse import analyse
from npudoctor.profile.folder import statistics
from npudoctor.profile.readers import read
from npudoctor.profile.verdict import judge
from tests.profile import traces

KERNEL_DETAILS = """Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num
0,aclnnAdd_AddAiCore_Add,Add,AI_VECTOR_CORE,"1000.000\t",5.0,0,8
0,aclnnCumsum_Cumsum,Cumsum,AI_CPU,"1010.000\t",300.0,0,1
0,aclnnAdd_AddAiCore_Add,Add,AI_VECTOR_CORE,"1400.000\t",5.0,0,8
"""


def test_gzip_reads_like_plain(tmp_path: Path) -> None:
    events = traces.ascend_trace(traces.launch_bound(5))
    plain = read(traces.write(tmp_path / "a.json", events))
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(events).encode()))
    assert analyse(read(packed)).busy_us == analyse(plain).busy_us


def test_object_form_with_other_keys(tmp_path: Path) -> None:
    body = {"schemaVersion": 1, "traceEvents": traces.ascend_trace(traces.launch_bound(3)), "traceName": "x"}
    assert read(traces.write(tmp_path / "t.json", body)).has_device


def test_profiler_folder_joins_kernel_details(tmp_path: Path) -> None:
    folder = tmp_path / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    events = [*traces.launch_bound(3), traces.kernel(500, 300, "aclnnCumsum_Cumsum")]
    traces.write(folder / "trace_view.json", traces.ascend_trace(events))
    (folder / "kernel_details.csv").write_text(KERNEL_DETAILS)
    analysis = analyse(read(tmp_path / "host_1_ascend_pt"))
    assert [o.name for o in analysis.aicpu] == ["aclnnCumsum_Cumsum"]


def test_the_profilers_own_sums_are_shown_and_damage_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text(KERNEL_DETAILS)
    (tmp_path / "step_trace_time.csv").write_text(
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
        "0,1,310.0,0.0,0.0,0.0,95.0\n0,2,broken,0,0,0,0\n"
    )
    (tmp_path / "op_statistic.csv").write_text(
        "Device_id,OP Type,Core Type,Count,Total Time(us)\n"
        "0,Add,AI_VECTOR_CORE,2,10.0\n0,Cumsum,AI_CPU,1,300.0\n"
    )
    summed = statistics(tmp_path)
    assert summed.steps == ((310.0, 0.0, 95.0),)
    assert summed.operators[0] == ("Cumsum", "AI_CPU", 1, 300.0)
    facts = {f.key: f.words("en") for f in judge(analyse(read(tmp_path)), summed).facts}
    assert facts["step_trace"] == "1: computing 0.3 ms, communication 0.0 ms, free 0.1 ms"
    assert statistics(tmp_path / "kernel_details.csv").operators == ()


def test_kernel_details_alone(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text(KERNEL_DETAILS)
    analysis = analyse(read(tmp_path))
    assert analysis.launches == 3
    assert analysis.busy_us == pytest.approx(310.0)
    assert [o.name for o in analysis.aicpu] == ["Cumsum"]


def test_a_kernel_without_a_name_is_one_all_the_same(tmp_path: Path) -> None:
    nameless = KERNEL_DETAILS.replace("aclnnCumsum_Cumsum,Cumsum", "N/A,N/A")
    (tmp_path / "kernel_details.csv").write_text(nameless)
    analysis = analyse(read(tmp_path))
    assert analysis.launches == 3
    assert analysis.busy_us == pytest.approx(310.0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x00\x01\x02" * 50,
        b'{"traceEvents": [',
        b"[1, 2, 3]",
        b'{"a": 1}',
        b"\x1f\x8bbroken",
        b'[{"ph": "X"',
    ],
)
def test_garbage_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(UserError):
        read(path)


def test_missing_and_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        read(tmp_path / "none.json")
    with pytest.raises(UserError, match="neither"):
        read(tmp_path)


values = st.one_of(
    st.none(),
    st.integers(-(2**62), 2**62),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.integers(-(2**62), 2**62), max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["ph", "cat", "name", "ts", "dur", "pid", "tid", "args"]),
            st.one_of(values, st.sampled_from(["X", "M", "cpu_op", "kernel", "aten::item"])),
        ),
        max_size=8,
    )
)
def test_strange_events_never_crash(tmp_path_factory: pytest.TempPathFactory, events: list) -> None:
    path = tmp_path_factory.mktemp("t") / "t.json"
    path.write_text(json.dumps([*events, traces.kernel(0, 1, "k") | {"cat": "kernel"}]))
    trace = read(path)
    judge(analyse(trace))
    assert len(trace.columns) >= 1


def test_nesting_that_no_trace_has_is_refused_before_it_takes_the_memory(tmp_path: Path) -> None:
    for opened in ("[", '{"a":'):
        path = tmp_path / "deep.json"
        path.write_text(opened * 20_000)
        tracemalloc.start()
        with pytest.raises(UserError):
            read(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 50_000_000
