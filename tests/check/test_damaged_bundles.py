"""Any part of any machine may be refused, late, missing or garbage: a report comes out all the same."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.check.run import report
from npudoctor.pairing.table import load
from npudoctor.report.as_json import dumps
from npudoctor.report.terminal import render
from npudoctor.session import Session
from tests.support import overlays

NAMES = sorted(p.stem for p in overlays.MACHINES.glob("*.json"))
GARBAGE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", "=", "Version=", "version=\n", "[,]", "NPUDOCTOR {}"]),
    # What the child programs say, of another shape than they say it.
    st.sampled_from(
        [
            'NPUDOCTOR {"packages": 3}',
            'NPUDOCTOR {"packages": {"torch": 3, "torch-npu": [{}]}}',
            'NPUDOCTOR {"packages": {"torch": [{"version": null}], "torch-npu": [{"version": "2.6-x y"}]}}',
            'NPUDOCTOR {"packages": {"torch-npu": [{"version": "%s", "requires": 1}]}}' % ("9" * 5000),
            'NPUDOCTOR {"imported": "torch_npu"}\nNPUDOCTOR {"available": "x"}',
        ]
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> dict:
    """A recorded machine with some of its answers replaced."""
    data = overlays.machine_data(draw(st.sampled_from(NAMES)))
    data["closed"] = draw(st.booleans())
    seen = data["observations"]
    targets = sorted((kind, target) for kind, entries in seen.items() for target in entries)
    for kind, target in draw(st.lists(st.sampled_from(targets), min_size=1, max_size=6)):
        how = draw(st.sampled_from(["drop", "error", "garbage"]))
        if how == "drop":
            seen[kind].pop(target, None)
        elif how == "error":
            seen[kind][target] = {"error": draw(st.sampled_from(["ENOENT", "EACCES", "EIO", "timeout"]))}
        elif kind == "read":
            seen[kind][target] = {"data": draw(GARBAGE)}
        elif kind == "run":
            code = draw(st.sampled_from([0, 1, -11, None]))
            seen[kind][target] = {"exit": code, "stdout": draw(GARBAGE), "stderr": draw(GARBAGE)}
        elif kind == "list":
            seen[kind][target] = {"data": draw(st.lists(st.text(max_size=8), max_size=4))}
        elif kind == "env":
            names = [
                "ASCEND_RT_VISIBLE_DEVICES",
                "LD_LIBRARY_PATH",
                "ASCEND_HOME_PATH",
                "HOME",
                "PATH",
                "NNODES",
            ]
            seen[kind][target] = {"data": {draw(st.sampled_from(names)): draw(GARBAGE)}}
    return data


@settings(max_examples=120, deadline=None)
@given(damaged())
def test_no_check_crashes_and_the_report_renders(data: dict) -> None:
    made = report(overlays.facts(data), load())
    crashed = [u for u in made.not_checked if u.reason is not None and "crashed" in u.reason.en]
    assert not crashed, [(u.code, dict(u.params)) for u in crashed]
    dumps(made, "zh")
    for lang in ("en", "zh"):
        session = Session(lang=lang, verbose=True)
        render(made, session.console(io.StringIO(), width=100), session)


def _computed(*marks: str, exit_code: int = 0) -> dict:
    data = overlays.machine_data("910b-host-ok")
    head = ['NPUDOCTOR {"imported": "torch"}', 'NPUDOCTOR {"imported": "torch_npu"}']
    run = {"exit": exit_code, "stdout": [*head, *marks], "stderr": ""}
    data["observations"]["run"]["compute"] = run
    return data


def test_a_compute_probe_that_ends_without_an_answer_is_not_a_pass() -> None:
    said = report(overlays.facts(_computed()), load())
    assert "NPU091" in {unit.code for unit in said.not_checked}
    assert not said.findings


def test_a_compute_probe_that_ends_before_the_last_device_is_a_failure() -> None:
    marks = (
        'NPUDOCTOR {"available": true}',
        'NPUDOCTOR {"count": 2}',
        'NPUDOCTOR {"device": 0, "result": "ok"}',
    )
    assert [f.code for f in report(overlays.facts(_computed(*marks)), load()).findings] == ["NPU091"]


def test_a_child_that_could_not_be_started_leaves_its_checks_open() -> None:
    data = overlays.machine_data("910b-host-ok")
    data["observations"]["run"]["compute"] = {"exit": 1, "stdout": "", "stderr": "ImportError: odd"}
    said = report(overlays.facts(data), load())  # the second child is not in the recording
    assert {"NPU063", "NPU074"} <= {unit.code for unit in said.not_checked}


def test_a_slash_at_the_end_of_a_folder_changes_nothing() -> None:
    data = overlays.machine_data("910b-host-ok")
    data["observations"]["env"]["env"]["data"]["ASCEND_HOME_PATH"] += "/"
    assert not report(overlays.facts(data), load()).findings


@pytest.mark.parametrize("gone", ["libascend_hal.so", "/dev/davinci", "ascend-toolkit/", "/driver/"])
@pytest.mark.parametrize("base", ["910b-host-ok", "910b-container-few-mounts-ok"])
def test_what_a_computing_device_proves_is_not_called_missing(base: str, gone: str) -> None:
    """It is only in a place where nobody looked."""
    data = overlays.machine_data(base)
    for entries in data["observations"].values():
        for target in [t for t in entries if gone in t]:
            del entries[target]
    data["observations"].setdefault("env", {})["env"] = {"data": {}}
    said = report(overlays.facts(data), load())
    assert not [f.code for f in said.findings if f.severity.value == "error"]
