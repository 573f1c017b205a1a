"""Any part of any machine may be refused, late, missing or garbage: a report comes out all the same."""

from __future__ import annotations

import io

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
    st.text(max_size=40), st.sampled_from(["", "=", "Version=", "version=\n", "[,]", "NPUDOCTOR {}"])
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
