"""`npudoctor check` as a user calls it, on the states that this machine can really be in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RunCli

BROKEN = os.environ.get("NPUDOCTOR_BROKEN_PYTHON", "")


def walk(findings: list[dict]) -> list[dict]:
    return [f for root in findings for f in [root, *walk(root["consequences"])]]


def codes(report: dict) -> list[str]:
    return [f["code"] for f in walk(report["findings"])]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with nothing installed: a fresh virtual environment without pip."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def test_state_a_no_torch(run_cli: RunCli, bare_python: str) -> None:
    done = run_cli("check", "--json", "--python", bare_python)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert "NPU060" in codes(report)
    assert not {"NPU074", "NPU075", "NPU030"} & set(codes(report))
    assert report["facts"]["torch"]["value"] == "-"


def test_state_b_torch_only(run_cli: RunCli) -> None:
    pytest.importorskip("torch")
    done = run_cli("check", "--json")
    report = json.loads(done.stdout)
    if any(Path("/dev").glob("davinci*")):
        pytest.skip("this machine has an NPU: the state cannot be made here")
    assert done.returncode == 1, done.stderr
    assert codes(report) == ["NPU001"], "one plain answer, not ten red lines"
    assert "no Ascend" in report["verdict"]


@pytest.mark.broken_npu
@pytest.mark.skipif(
    not BROKEN, reason="NPUDOCTOR_BROKEN_PYTHON does not name a Python with torch_npu and no CANN"
)
def test_state_c_torch_npu_without_cann(run_cli: RunCli) -> None:
    done = run_cli("check", "--json", "--python", BROKEN)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    first = report["findings"][0]
    assert first["code"] == "NPU030"
    assert "libhccl.so" in first["title"]
    assert any("libhccl.so: cannot open shared object file" in e["value"] for e in first["evidence"])
    assert any("set_env.sh" in c for fix in first["fixes"] for c in fix["commands"])
    below = {f["code"]: f for f in walk(first["consequences"])}
    assert {"NPU074", "NPU075"} <= set(below), "the failing imports follow from it"
    assert "torch itself is sound" in below["NPU075"]["cause"]
    assert not {"NPU060", "NPU063"} & set(codes(report)), "it is not a torch problem"
