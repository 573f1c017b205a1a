"""Run a child of the interpreter under test: bounded in time and output, read line by line.

A child may hang, die by a signal, print anything anywhere, or leave processes behind.
Whatever it does, `run` returns within its timeout and a few seconds, with every JSON
event that arrived and the tail of everything else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from npudoctor.core.children import GRACE_S, end_session
from npudoctor.core.interrupt import interrupt_waits

BOOT = Path(__file__).parent / "children" / "boot.py"
TAIL_LINES = 400
LINE_LIMIT = 4000
BASE_ENV = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}

Event = Mapping[str, Any]


@dataclass(frozen=True)
class ChildRun:
    """What a child left behind.

    Attributes:
        events: JSON objects with an `event` key, in order of arrival.
        log: last lines of standard error and of whatever else was printed.
        code: exit status; negative is minus the signal that ended it; None when it did not start.
        timed_out: it was killed because its time was over.
        seconds: wall time.
    """

    command: tuple[str, ...]
    events: tuple[Event, ...]
    log: tuple[str, ...]
    code: int | None
    timed_out: bool
    seconds: float

    def first(self, event: str) -> Event | None:
        """The first event of that name."""
        return next((e for e in self.events if e["event"] == event), None)

    def all(self, event: str) -> list[Event]:
        """Every event of that name."""
        return [e for e in self.events if e["event"] == event]

    @property
    def ended_well(self) -> bool:
        """It started, ended by itself, and said 0."""
        return self.code == 0 and not self.timed_out


def program(python: str, packages: Mapping[str, Path], module: str, *args: str) -> list[str]:
    """Command line that runs `module` of the mounted `packages` under `python`."""
    mounts = [f"{name}={path}" for name, path in packages.items()]
    return [python, str(BOOT), *mounts, "--", module, *args]


def run(
    command: list[str],
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> ChildRun:
    """Run `command` in its own process group and collect events until it ends or its time is over."""
    started = time.monotonic()
    full = {**os.environ, **BASE_ENV, "NPUDOCTOR_CHILD_LIMIT_S": str(timeout_s), **(env or {})}
    process: subprocess.Popen[bytes] | None = None
    timed_out = False
    try:
        with interrupt_waits():
            process = subprocess.Popen(
                command,
                env=full,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        reader = Reader(process, on_event)
        process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    except OSError as error:
        if process is not None:
            raise
        return ChildRun(tuple(command), (), (f"{command[0]}: {error.strerror or error}",), None, False, 0.0)
    finally:
        if process is not None:
            end_session(process, polite=True)  # also on Ctrl-C: nothing of ours outlives us
    assert process is not None
    reader.finish()
    seconds = time.monotonic() - started
    return ChildRun(
        tuple(command), tuple(reader.events), tuple(reader.log), ended_with(process), timed_out, seconds
    )


def ended_with(process: subprocess.Popen[bytes]) -> int:
    """Its exit status; minus the signal that could not end it, where it is stuck in the driver."""
    return -signal.SIGKILL if process.returncode is None else process.returncode


class Reader:
    """Two threads that drain the pipes, so that a child can never block on a full one."""

    def __init__(self, process: subprocess.Popen[bytes], on_event: Callable[[Event], None] | None) -> None:
        self.events: list[Event] = []
        self.log: deque[str] = deque(maxlen=TAIL_LINES)
        self._on_event = on_event
        assert process.stdout is not None
        assert process.stderr is not None
        self._threads = [
            threading.Thread(target=self._drain, args=(process.stdout, True), daemon=True),
            threading.Thread(target=self._drain, args=(process.stderr, False), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Wait for the pipes to empty; a stray grandchild that holds one open is not waited for."""
        for thread in self._threads:
            thread.join(GRACE_S)

    def _drain(self, stream: IO[bytes], events: bool) -> None:
        # readline(limit) bounds memory when a program prints megabytes without a newline.
        for raw in iter(lambda: stream.readline(1 << 20), b""):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            event = parse_event(line) if events else None
            if event is not None:
                self.events.append(event)
                if self._on_event is not None:
                    self._on_event(event)
            elif line.strip():
                self.log.append(line[:LINE_LIMIT])


def parse_event(line: str) -> Event | None:
    """The event in a line of output, or None when the line is anything else."""
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("event"), str) else None
