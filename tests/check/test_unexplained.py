"""A failed probe that no check explains takes its cause from the symptoms; an explained one does not."""

from __future__ import annotations

from npudoctor.check.run import report
from npudoctor.core.exits import Exit
from npudoctor.core.report import Report
from npudoctor.pairing.table import load
from tests.support import overlays

BASE = "910b-host-ok"


def made(*changes: dict) -> Report:
    return report(overlays.facts(overlays.apply(overlays.machine_data(BASE), list(changes), BASE)), load())


def failing(words: str) -> dict:
    return {"kind": "compute", "results": [], "count": 2, "exit": 1, "stderr": words}


def test_the_symptom_is_the_cause_and_the_probe_follows() -> None:
    said = made(
        failing(
            "RuntimeError: NPU out of memory. Tried to allocate 20.00 GiB (NPU 0; 60.97 GiB total capacity)"
        )
    )
    (root,) = said.findings
    assert root.code.startswith("NPU9")
    assert [f.code for f in root.consequences] == ["NPU091"]
    assert root.fixes
    assert said.exit_code() is Exit.FINDINGS


def test_words_nobody_knows_stay_as_they_are() -> None:
    assert [f.code for f in made(failing("RuntimeError: entirely new words")).findings] == ["NPU091"]


def test_what_a_check_explains_is_left_alone() -> None:
    mask = {"kind": "env", "set": {"ASCEND_RT_VISIBLE_DEVICES": "4"}}
    said = made(mask, failing("RuntimeError: aclrtGetDeviceCount, error code is 207004"))
    assert [f.code for f in said.findings] == ["NPU082"]
    assert [f.code for f in made().findings] == []
