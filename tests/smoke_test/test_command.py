"""The command line: one full quick run on the CPU, and the answers to what cannot work."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import gone

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


BROKEN = os.environ.get("NPUDOCTOR_BROKEN_PYTHON", "")
needs_broken = pytest.mark.skipif(
    not BROKEN, reason="NPUDOCTOR_BROKEN_PYTHON does not name a Python with torch_npu and no CANN"
)


@pytest.mark.broken_npu
@needs_broken
def test_the_real_torch_npu_without_cann(run_cli: Any) -> None:
    for device in ("auto", "npu"):
        result = run_cli("smoke-test", "--quick", "--device", device, "--python", BROKEN)
        assert result.returncode == 1
        assert "libhccl.so" in result.stdout
        assert "set_env.sh" in result.stdout
        assert "Device: none" in result.stdout.splitlines()[0]


@pytest.mark.broken_npu
@needs_broken
def test_a_broken_torch_npu_does_not_stop_a_run_without_it(run_cli: Any) -> None:
    result = run_cli("smoke-test", "--quick", "--device", "cpu", "--python", BROKEN, "--json")
    first = json.loads(result.stdout)["extra"]["stages"][:3]
    assert [s["status"] for s in first] == ["pass", "pass", "pass"]


def test_an_interpreter_that_prints_and_never_ends(run_cli: Any, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho '[INFO] noise on stdout'\nexec sleep 60\n")
    fake.chmod(0o755)
    result = run_cli("smoke-test", "--python", fake, "--slower", "0.1", timeout=60)
    assert result.returncode == 1
    assert "no answer within" in result.stdout


def test_a_simulated_npu_never_passes_for_hardware(run_cli: Any, tmp_path: Path) -> None:
    pytest.importorskip("npudoctor.simulate")
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nif os.environ.get('SIMULATE_NOW'):\n"
        "    import npudoctor.simulate\n    simulation = npudoctor.simulate.device()\n    "
        "simulation.__enter__()\n"
    )
    root = str(Path(__file__).resolve().parent.parent.parent)
    fake = tmp_path / "python"
    path = f"{tmp_path}:{root}"
    fake.write_text(f'#!/bin/sh\nSIMULATE_NOW=1 PYTHONPATH={path} exec {sys.executable} "$@"\n')
    fake.chmod(0o755)
    result = run_cli("smoke-test", "--quick", "--device", "npu", "--python", fake, "--json")
    report = json.loads(result.stdout)
    assert result.returncode == 1
    assert report["extra"]["validates_hardware"] is False
    assert "npu-simulated" in [f["slug"] for f in flat(report["findings"])]


def flat(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [f for finding in findings for f in (finding, *flat(finding["consequences"]))]


def test_ctrl_c_leaves_nobody_behind(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\necho $$ > {pid_file}\nexec sleep 60\n")
    fake.chmod(0o755)
    root = Path(__file__).resolve().parent.parent.parent
    words = [sys.executable, "-m", "npudoctor", "smoke-test", "--python", str(fake)]
    process = subprocess.Popen(words, cwd=root, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for _ in range(200):
        if pid_file.exists() and pid_file.read_text().strip():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert gone(int(pid_file.read_text()))


def test_a_page_that_cannot_be_written_is_refused_first(run_cli: Any, tmp_path: Path) -> None:
    result = run_cli("smoke-test", "--report", tmp_path / "none" / "x.html", timeout=20)
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr
    assert os.listdir(tmp_path) == []


def test_the_command_itself_never_imports_torch(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    result = run_cli("smoke-test", "--help", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 0
    result = run_cli("smoke-test", "--python", "/no/such/python", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 1
    assert "cannot be started" in result.stdout
