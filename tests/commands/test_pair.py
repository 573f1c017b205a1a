"""`npudoctor pair` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def data(run_cli: Any, *args: object, code: int = 0) -> dict[str, Any]:
    done = run_cli("pair", *args, "--json")
    assert done.returncode == code, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_old_cann_and_new_torch(run_cli: Any) -> None:
    given = ("--torch", "2.5.1", "--cann", "8.0.RC2", "--python", "3.10", "--chip", "910B")
    report = data(run_cli, *given, "--arch", "aarch64")
    assert report["extra"]["verdict"] == "compatible-only"
    finding = report["findings"][0]
    for word in ("8.0.RC2", "2.3.1", "2.5.1"):
        assert word in finding["title"] + finding["cause"]
    notes = [fix["note"] for fix in finding["fixes"]]
    assert "torch 2.3.1, torch_npu 2.3.1, CANN 8.0.RC2" in notes[0]
    assert "torch 2.5.1, torch_npu 2.5.1, CANN 8.1.RC1" in notes[1]
    assert "compatible but not paired" in notes[-1]
    assert {s["relation"] for s in report["extra"]["sets"]} == {"compatible"}


def test_text_answer_has_commands_and_image(run_cli: Any) -> None:
    done = run_cli("pair", "--torch-npu", "2.7.1.post4", "--chip", "910B", "--arch", "x86_64")
    assert done.returncode == 0
    command = "python -m pip install torch==2.7.1+cpu --index-url https://download.pytorch.org/whl/cpu"
    assert f"$ {command}" in done.stdout
    assert "quay.io/ascend/torch-npu:2.7.1.post4-910b-ubuntu22.04-py3.11" in done.stdout
    assert "25.0 or newer" in done.stdout


def test_conflict_exits_1_and_names_the_pair(run_cli: Any) -> None:
    report = data(run_cli, "--torch", "2.12.0", "--driver", "24.1.0", code=1)
    assert report["extra"]["conflicts"] == [["torch", "driver"]]
    assert "25.2.X" in report["findings"][0]["cause"]


def test_conflicts_stand_side_by_side(run_cli: Any) -> None:
    given = ("--torch", "2.7.1", "--cann", "8.0.RC1", "--python", "3.13")
    report = data(run_cli, *given, code=1)
    assert len(report["extra"]["conflicts"]) == len(report["findings"]) == 2
    assert all(not finding["consequences"] for finding in report["findings"])
    assert not report["findings"][0]["fixes"]
    assert report["findings"][1]["fixes"]
    assert "follows from this" not in run_cli("pair", *given).stdout


def test_unknown_is_said_with_the_date(run_cli: Any) -> None:
    report = data(run_cli, "--torch", "2.99.0", code=1)
    assert report["findings"][0]["code"] == "NPU803"
    assert report["tables"]["pairing"] in report["findings"][0]["title"]


def test_from_this_machine(run_cli: Any) -> None:
    done = run_cli("pair", "--limit", "1", "--json")
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode
    assert "python" in report["extra"]["query"]
    assert any(key.startswith("here.") for key in report["facts"])


def test_site_table(run_cli: Any, tmp_path: Path) -> None:
    site = tmp_path / "ours.tsv"
    site.write_text("# date: 2026-10-01\ntorch_npu\ttorch\tcann\tpython\n2.99.0\t2.99.0\t9.1.0\t3.12\n")
    report = data(run_cli, "--torch", "2.99.0", "--table", site)
    assert report["extra"]["sets"][0]["torch_npu"] == "2.99.0"
    assert any("ours" in name for name in report["tables"])


def test_bad_input_is_one_sentence(run_cli: Any, tmp_path: Path) -> None:
    missing = tmp_path / "no.tsv"
    for args in (("--cann", "newest"), ("--chip", "H100"), ("--python", "two"), ("--table", missing)):
        done = run_cli("pair", *args)
        assert done.returncode == 2
        assert done.stderr.startswith("npudoctor: ")
        assert "Traceback" not in done.stderr


def test_chinese(run_cli: Any) -> None:
    done = run_cli("pair", "--torch", "2.9.0", "--python", "3.8", "--lang", "zh")
    assert done.returncode == 1
    assert "不配套" in done.stdout
