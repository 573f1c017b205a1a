"""`npudoctor report`: one page or file of the last results, also of damaged and older ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npudoctor import state
from npudoctor.core.finding import Evidence, Finding, Fix, Place, Severity
from npudoctor.core.report import Report, Unit
from npudoctor.core.text import Text
from npudoctor.report.keep import keep

GOOD: dict[str, Any] = {"exit_code": 1, "verdict": "fine <b>", "facts": {}, "findings": [], "not_checked": []}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NPUDOCTOR_NO_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "npudoctor"


def test_a_page(place: Path, run_cli) -> None:
    state.remember("check", {"en": GOOD, "zh": GOOD})
    done = run_cli(
        "report", env={"XDG_STATE_HOME": str(place.parent), "NPUDOCTOR_NO_STATE": ""}, cwd=place.parents[1]
    )
    assert done.returncode == 0, done.stderr
    assert "fine &lt;b&gt;" in (place.parents[1] / "npudoctor-report.html").read_text(encoding="utf-8")


def test_the_json_form_goes_where_output_says(place: Path, run_cli, tmp_path: Path) -> None:
    state.remember("check", {"en": GOOD})
    run = {"env": {"XDG_STATE_HOME": str(place.parent), "NPUDOCTOR_NO_STATE": ""}, "cwd": tmp_path}
    assert json.loads(run_cli("report", "--json", **run).stdout)["results"]["check"]["report"] == GOOD
    assert run_cli("report", "--json", "--quiet", **run).stdout == ""
    done = run_cli("report", "--json", "-o", tmp_path / "r.json", **run)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["results"]
    assert not (tmp_path / "npudoctor-report.html").exists()


@pytest.mark.parametrize("report", [{}, {"verdict": "old", "findings": [{"code": "NPU001"}]}])
def test_a_result_of_an_older_version_has_its_page(place: Path, report: dict[str, Any]) -> None:
    from npudoctor.report.summary import page

    state.remember("check", {"en": report, "zh": report})
    assert f"<strong>{report.get('verdict', '?')}</strong>" in page(state.recall(), "en")


@pytest.mark.parametrize("seen", [Place("PATH"), Place("train.py", 7), Place("a.py", 7, 3, 8, 1), None])
def test_each_kind_of_place_has_its_page(place: Path, seen: Place | None) -> None:
    from npudoctor.report.summary import page

    words, unit = Text("wrong", "不对"), Unit("NPU013", "device-permission", Text("asked", "已询问"))
    follows = Finding("NPU002", "b", Severity.WARNING, words, words, place=seen)
    finding = Finding(
        "NPU001", "a", Severity.ERROR, words, words, place=seen, evidence=(Evidence("PATH", "unset"),),
        fixes=(Fix(words, ("ls",)),), sources=("https://example.org",), consequences=(follows,),
    )
    keep(Report("check", words, findings=(finding,), not_checked=(unit,)))
    text = page(state.recall(), "en")
    shown = "" if seen is None else seen.path + (f":{seen.line}" if seen.line else "")
    assert text.count(f'<span class="dim">{shown}</span>') == (2 if seen else 0)
    assert text.count("NPU002 wrong") == text.count("NPU002 不对") == 1


@pytest.mark.parametrize(
    "damage",
    [
        [],
        {"command": "check", "when": 5, "folder": "/", "report": {}},
        {"command": ["check"], "when": "", "folder": "/", "report": {}},
        {"command": "check", "when": "", "folder": "/", "report": []},
        {"command": "check", "when": "", "folder": "/", "report": {"en": "x"}},
    ],
)
def test_a_damaged_result_is_passed_over(place: Path, damage: Any) -> None:
    place.mkdir(parents=True)
    if isinstance(damage, dict):
        damage = {"schema": state.SCHEMA, **damage}
    (place / "check.json").write_text(json.dumps(damage))
    assert state.recall() == {}


def test_a_verdict_cannot_steer_the_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from npudoctor.report import steps

    state.remember("check", {"en": {"exit_code": 1, "verdict": "a\x1b[2Jb"}})
    steps.show("en")
    assert "a\\x1b[2Jb" in capsys.readouterr().out
