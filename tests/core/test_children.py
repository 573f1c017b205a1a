"""Ending a child ends what it started, and one that takes no signal is not waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npudoctor.core import children
from npudoctor.smoke_test import child as smoke
from tests.support.processes import gone


def start(program: str, *args: object) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", program, *map(str, args)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("polite", [False, True])
def test_what_a_child_started_ends_with_it(tmp_path: Path, polite: bool) -> None:
    child = start(
        "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(p.pid, flush=True)\ntime.sleep(600)"
    )
    assert child.stdout is not None
    inner = int(child.stdout.readline())
    children.end_session(child, polite=polite, grace_s=0.5)
    children.close_pipes(child)
    assert gone(inner)
    assert child.returncode == -9


@pytest.mark.parametrize("polite", [False, True])
def test_a_child_stuck_in_the_driver_is_left_behind(monkeypatch: pytest.MonkeyPatch, polite: bool) -> None:
    """State D takes no signal: here signals are kept from the child."""
    child = start("import time; time.sleep(600)")
    real = os.killpg
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    begun = time.monotonic()
    children.end_session(child, polite=polite, grace_s=0.2)
    assert time.monotonic() - begun < 5
    assert child.returncode is None
    assert smoke.ended_with(child) == -9
    real(child.pid, 9)
    child.wait(10)
    children.close_pipes(child)


def test_a_stage_whose_child_is_stuck_still_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    real = os.killpg
    monkeypatch.setattr(os, "killpg", lambda pid, _: pids.append(pid))
    monkeypatch.setattr(children, "GRACE_S", 0.2)
    run = smoke.run([sys.executable, "-c", "import time; time.sleep(600)"], timeout_s=0.5)
    assert run.timed_out
    assert run.code == -9
    real(pids[0], 9)
