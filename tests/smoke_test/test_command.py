"""The command line: one full quick run on the CPU, and the answers to what cannot work."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")


def test_quick_run_passes_every_stage(quick_run: dict[str, Any]) -> None:
    extra = quick_run["report"]["extra"]
    assert extra["schema"] == "npudoctor.smoke-test/1"
    assert extra["device"] == {"kind": "cpu", "label": "CPU", "chosen_by": "user"}
    assert extra["validates_hardware"] is False
    by_slug = {stage["slug"]: stage for stage in extra["stages"]}
    ran = (
        "environment",
        "device-hello",
        "operator-parity",
        "algorithm-cpu",
        "stage-timings",
        "learning",
        "checkpoint",
    )
    assert {slug: by_slug[slug]["status"] for slug in ran} == dict.fromkeys(ran, "pass")
    assert by_slug["learning"]["facts"]["success"] >= 0.9
    assert by_slug["stage-timings"]["facts"]["ratio"] > 1
    assert "not NPU hardware" in quick_run["report"]["banner"]


def test_the_page_is_one_file_with_the_same_words(quick_run: dict[str, Any]) -> None:
    page = quick_run["page"]
    assert page.count(quick_run["report"]["banner"]) == 2
    assert "<script" not in page
    assert "src=" not in page
    assert "article: one environment, NPU" in page


def test_text_says_the_device_first_and_last(run_cli: Any) -> None:
    result = run_cli("smoke-test", "--device", "npu", env={"NO_COLOR": "1"})
    lines = result.stdout.strip().splitlines()
    assert result.returncode == 1
    assert lines[0] == lines[-1]
    assert "Device: none" in lines[0]
    assert "npudoctor check" in lines[-2]
    assert "\x1b" not in result.stdout


def test_an_interpreter_without_torch(run_cli: Any, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    result = run_cli("smoke-test", "--python", fake, "--lang", "zh")
    assert result.returncode == 1
    assert "torch" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_an_interpreter_that_prints_and_never_ends(run_cli: Any, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho '[INFO] noise on stdout'\nexec sleep 60\n")
    fake.chmod(0o755)
    result = run_cli("smoke-test", "--python", fake, "--slower", "0.1", timeout=60)
    assert result.returncode == 1
    assert "no answer within" in result.stdout


def test_a_page_that_cannot_be_written_is_refused_first(run_cli: Any, tmp_path: Path) -> None:
    result = run_cli("smoke-test", "--report", tmp_path / "none" / "x.html", timeout=20)
    assert result.returncode == 2
    assert "no such folder" in result.stderr
    assert os.listdir(tmp_path) == []


def test_the_command_itself_never_imports_torch(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    result = run_cli("smoke-test", "--help", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 0
    result = run_cli("smoke-test", "--python", "/no/such/python", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 1
    assert "cannot be started" in result.stdout
