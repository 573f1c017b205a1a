"""The words of the portable table: same numbers, different ones, a run that failed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "evidence_portable.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence_portable", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["evidence_portable"] = module
    spec.loader.exec_module(module)
    return module


def run(*lines: str, status: int = 0) -> SimpleNamespace:
    return SimpleNamespace(lines=lines, scalars=(), weights={}, status=status, error="KeyError: 'x' | y")


def test_same_numbers_are_counted(script: ModuleType) -> None:
    first = run("loss 0.25", "time 3.1 s")
    assert script.told(first, run("loss 0.25", "time 3.9 s"), run("loss 0.25", "time 9.0 s")).startswith(
        "same numbers (1 printed"
    )


def test_another_number_is_told(script: ModuleType) -> None:
    first = run("loss 0.25")
    assert script.told(first, first, run("loss 0.26")).startswith("1 differ, first printed")


def test_a_failed_run_is_told(script: ModuleType) -> None:
    assert script.told(run("a"), run("a"), run(status=1)) == "failed: KeyError: 'x' / y"
