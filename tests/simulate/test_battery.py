"""The checks of `battery/`, each reported as a test of its own, all run in one child process."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "battery"


def names() -> list[str]:
    """`module.check_name` of every check, read without importing anything."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("check_"):
                found.append(f"{path.stem}.{node.name}")
    return found


@pytest.fixture(scope="module")
def results() -> dict[str, str | None]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulate.battery"], cwd=ROOT, capture_output=True, text=True,
        timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", names())
def test_claim_holds(name: str, results: dict[str, str | None]) -> None:
    assert name in results, "the check did not run"
    assert results[name] is None, results[name]
