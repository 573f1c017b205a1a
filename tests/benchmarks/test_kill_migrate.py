"""A short run of benchmarks/kill_migrate.py: SIGKILL to `migrate` and to `--undo` at random moments."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_every_file_is_old_or_new_and_undo_is_exact() -> None:
    command = [sys.executable, "benchmarks/kill_migrate.py", "--kills", "12", "--files", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *states, last = done.stdout.splitlines()
    assert last.startswith("12 kills: every file old or new each time")
    assert sum(int(line.split()[0]) for line in states) == 12
    assert len(states) > 1, "every kill met the same state"
