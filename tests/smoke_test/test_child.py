"""Children that hang, crash, print garbage, fork or cannot start: one result each, in time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from npudoctor.smoke_test import child
from tests.support.processes import gone

PYTHON = sys.executable


def run(code: str, timeout_s: float = 10.0, **more: object) -> child.ChildRun:
    return child.run([PYTHON, "-c", code], timeout_s, **more)  # type: ignore[arg-type]


def test_events_and_garbage_are_told_apart() -> None:
    code = (
        "import os, sys\n"
        "os.write(1, b'[INFO] RUNTIME(1,python): \\xff\\xfe no newline')\n"
        'print(\'\\n{"event": "a", "n": 1}\')\n'
        "print('{\"event\": 7}'); print('{broken'); print('[1]')\n"
        "sys.stderr.write('on stderr\\n')"
    )
    result = run(code)
    assert [e["event"] for e in result.events] == ["a"]
    assert result.ended_well
    assert any("RUNTIME" in line for line in result.log)
    assert "on stderr" in result.log
    assert "{broken" in result.log


def test_a_hanging_child_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(p.pid))\n"
        'print(\'{"event": "started"}\', flush=True)\n'
        "time.sleep(60)"
    )
    started = time.monotonic()
    result = run(code, 4.0)
    assert result.timed_out
    assert not result.ended_well
    assert time.monotonic() - started < 12
    assert result.first("started") is not None
    assert gone(int(pid_file.read_text()))


def test_a_child_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE_S", 0.3)
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    result = run(code, 1.0)
    assert result.timed_out
    assert result.code == -9


def test_death_by_signal_is_reported() -> None:
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").code == -11


def test_an_interpreter_that_is_not_there() -> None:
    result = child.run(["/no/such/python", "-c", "1"], 5.0)
    assert result.code is None
    assert "No such file" in result.log[0]


def test_output_without_end_is_bounded() -> None:
    result = run("import sys\nfor i in range(20000): print('x' * 100)\nsys.stderr.write('y' * 9000000)")
    assert result.ended_well
    assert len(result.log) <= child.TAIL_LINES
    assert max(map(len, result.log)) <= child.LINE_LIMIT


def test_boot_keeps_descriptor_one_away_from_the_events(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "noisy.py").write_text(
        "import os, sys\nos.write(1, b'C library log without newline')\n"
        'print(\'{"event": "mine", "args": \' + repr(len(sys.argv)) + \'}\')\n'
    )
    result = child.run(child.program(PYTHON, {"pack": package}, "pack.noisy", "a", "b"), 20.0)
    assert result.ended_well, result.log
    assert [(e["event"], e["args"]) for e in result.events] == [("mine", 3)]
    assert "C library log without newline" in result.log[0]


def test_boot_puts_no_foreign_folder_on_the_path(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "torch.py").write_text("raise SystemExit('imported the wrong torch')")
    (package / "show.py").write_text(
        "import json, sys\nprint(json.dumps({'event': 'path', 'path': sys.path}))"
    )
    result = child.run(child.program(PYTHON, {"pack": package}, "pack.show"), 20.0)
    event = result.first("path")
    assert event is not None, result.log
    assert str(tmp_path) not in event["path"]
    assert not any("smoke_test/children" in place for place in event["path"])


def test_the_place_of_a_hang_is_in_the_log() -> None:
    code = (
        "import runpy, sys\n"
        f"sys.argv = ['boot', '--', 'nothing']; boot = runpy.run_path({str(child.BOOT)!r})\n"
        "import faulthandler, time\nfaulthandler.dump_traceback_later(0.2)\n"
        "def stuck_here():\n    time.sleep(30)\nstuck_here()"
    )
    result = run(code, 2.0)
    assert result.timed_out
    assert any("stuck_here" in line for line in result.log)
