"""The last results: kept privately, found again, never in the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from npudoctor import journey, state


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NPUDOCTOR_NO_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "npudoctor"


def test_round_trip_and_permissions(place: Path) -> None:
    state.remember("check", {"en": {"exit_code": 0, "verdict": "fine"}})
    assert state.recall()["check"].report["en"]["verdict"] == "fine"
    assert stat.S_IMODE(os.stat(place / "check.json").st_mode) == 0o600


def test_garbage_is_passed_over(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "check.json").write_text("{broken")
    (place / "pair.json").write_text('{"schema": "other/1"}')
    assert state.recall() == {}


def test_nowhere_to_keep() -> None:
    assert state.folder({}) is None
    assert state.folder({"NPUDOCTOR_NO_STATE": "1", "HOME": "/"}) is None
    assert state.folder({"HOME": "/nowhere"}) is None, "a home that is not there is not made"
    assert state.folder({"HOME": "/"}) == Path("/.local/state/npudoctor")


def test_next_step_follows_the_results(place: Path) -> None:
    assert journey.next_step({}).command == "check"
    state.remember("check", {"en": {"exit_code": 0}})
    assert journey.next_step(state.recall()).command == "migrate"
    state.remember("check", {"en": {"exit_code": 1}})
    assert journey.next_step(state.recall()).command == "migrate", "a finding holds nothing up"
    for step in journey.STEPS:
        state.remember(step.command, {"en": {"exit_code": step.command == "simulate"}})
    assert journey.next_step(state.recall()).command == "simulate"
    state.remember("simulate", {"en": {"exit_code": 0}})
    assert journey.next_step(state.recall()).command == "export"
