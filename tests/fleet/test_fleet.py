"""A folder of bundles: one line per host, groups by version set, bad files reported and survived."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from npudoctor.fleet.groups import Spool
from npudoctor.fleet.survey import HostLine, judge, survey
from npudoctor.fleet.view import Counts, text_lines
from npudoctor.tables import DATA
from tests.conftest import RunCli
from tests.support import overlays

SCHEMA = json.loads((DATA / "schema" / "fleet-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five equal hosts, one with an older driver, one that is broken, one damaged file; two folders."""
    for number in range(5):
        shutil.copy(overlays.MACHINES / "910b-host-ok.json", tmp_path / f"node{number}.json")
    rack = tmp_path / "rack2"
    rack.mkdir()
    shutil.copy(overlays.MACHINES / "910b-container-cann85-ok.json", rack / "node9.json")
    shutil.copy(overlays.MACHINES / "910b-host-no-torch-npu.json", rack / "node8.json")
    (rack / "broken.json").write_text('{"schema": ')
    (rack / "readme.txt").write_text("not a bundle")
    return tmp_path


def test_text_puts_the_odd_ones_first(run_cli: RunCli, folder: Path) -> None:
    done = run_cli("check", "--replay", folder)
    assert done.returncode == 1
    text = done.stdout
    assert text.index("rack2/node9: ok") < text.index("node0: ok")
    assert "differs from most: driver 25.3.rc1 (25.0.rc1.1)" in text
    assert "? rack2/broken" in text
    assert "x rack2/node8: NPU070" in text
    assert text.count("node") >= 7
    assert "8 hosts in 3 version sets: 1 not ready, 0 with warnings, 1 unreadable" in text


def test_one_host_and_names_in_chinese(run_cli: RunCli, folder: Path) -> None:
    english = run_cli("check", "--replay", folder).stdout
    assert "1 host: " in english
    assert "1 hosts" not in english
    assert "1 file could not be read" in english
    chinese = run_cli("check", "--replay", folder, "--lang", "zh").stdout
    assert "1 台主机：" in chinese
    assert "芯片 " in chinese
    assert "与多数主机不同：驱动 25.3.rc1 (25.0.rc1.1)" in chinese
    for word in ("chips ", "driver ", "firmware ", "python "):
        assert word not in chinese


def test_json_streams_lines_that_follow_the_schema(run_cli: RunCli, folder: Path) -> None:
    done = run_cli("check", "--replay", folder, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        jsonschema.validate(row, SCHEMA)
    kinds = [row["kind"] for row in rows]
    assert kinds == ["host"] * 8 + ["group"] * 4 + ["summary"]
    assert rows[-1]["not_ready"] == 1
    assert sum(row["hosts"] for row in rows if row["kind"] == "group") == 8


def test_all_well_is_exit_0(run_cli: RunCli, tmp_path: Path) -> None:
    shutil.copy(overlays.MACHINES / "910b-host-ok.json", tmp_path)
    assert run_cli("check", "--replay", tmp_path).returncode == 0


def test_output_file_appears_whole(run_cli: RunCli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "fleet.jsonl"
    run_cli("check", "--replay", folder / "rack2", "--json", "-o", out)
    assert json.loads(out.read_text().splitlines()[-1])["kind"] == "summary"
    assert not list(tmp_path.glob(".*part"))


def test_processes_and_one_process_say_the_same(tmp_path: Path) -> None:
    names = sorted(p.stem for p in overlays.MACHINES.glob("*.json"))
    for number in range(70):
        shutil.copy(overlays.MACHINES / f"{names[number % len(names)]}.json", tmp_path / f"{number:03d}.json")
    alone, together = list(survey(tmp_path, workers=1)), list(survey(tmp_path, workers=2))
    assert alone == together
    assert [line.host for line in alone] == [f"{n:03d}" for n in range(70)]


def test_judge_matches_the_single_report(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    shutil.copy(overlays.MACHINES / "910b-host-two-cann-mixed.json", path)
    line = judge(path, tmp_path)
    assert line.first == "NPU034"
    assert line.errors >= 1
    assert line.title[0] != line.title[1]


def test_spool_without_a_place_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    with Spool() as spool:
        spool.add(HostLine("a", ("1",) * 7))
        spool.add(HostLine("b", problem=("unreadable", "无法读取")))
        assert [group.hosts for group in spool.groups()] == [1, 1]


def test_one_odd_bundle_does_not_end_the_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(overlays.MACHINES / "910b-host-ok.json", tmp_path / "a.json")
    odd = overlays.machine_data("910b-host-ok")
    odd["observations"]["env"]["env"] = {"data": [1]}
    (tmp_path / "b.json").write_text(json.dumps(odd))
    seen = list(survey(tmp_path))
    assert [bool(line.problem[0]) for line in seen] == [False, True]
    assert "录制文件" in seen[1].problem[1]
    monkeypatch.setattr("npudoctor.fleet.survey.diagnose", lambda *_, **__: 1 / 0)
    assert "ZeroDivisionError" in judge(tmp_path / "a.json", tmp_path).problem[0]


def test_hosts_with_errors_come_first_in_their_group() -> None:
    with Spool() as spool:
        for name, errors, warnings in (("a", 0, 0), ("b", 0, 1), ("c", 1, 0)):
            spool.add(HostLine(name, ("1",) * 7, "NPU001", ("t", "t"), errors, warnings))
        (group,) = spool.groups()
        assert [line.host for line in spool.lines(group)] == ["c", "b", "a"]


def test_versions_of_a_bundle_cannot_steer_the_terminal() -> None:
    counts, line = Counts(), HostLine("h\x1b[2J", ("910B", "25\x1b]0;x\x07", "", "", "", "", ""))
    text = "\n".join(text_lines([line], counts, lambda t, p=None: t.render("en", p), "en"))
    assert "\x1b" not in text
    assert "25\\x1b" in text


def test_ignored_checks_are_not_run_in_a_fleet_either(run_cli: RunCli, folder: Path) -> None:
    (folder / "rack2" / "broken.json").unlink()
    for words in (("--ignore", "NPU070"), ("--ignore", "npu070,NPU071")):
        done = run_cli("check", "--replay", folder, *words)
        assert done.returncode == 0, done.stdout
        assert "NPU070" not in done.stdout
