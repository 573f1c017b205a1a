"""A child that stays: several programs in one process, so that torch loads and the device opens once.

Used with --quick. Each program still has its own time limit; one that hangs, crashes or
fails ends the child, and the next one gets a fresh child.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import time
from collections.abc import Callable, Mapping

from npudoctor.core.children import end_session
from npudoctor.core.interrupt import interrupt_waits
from npudoctor.smoke_test.child import BASE_ENV, ChildRun, Event, Reader, ended_with

FINISHED = "finished"


class Worker:
    """Runs one program after the other in one child.

    Args:
        command: starts `children/worker.py`, which reads one job per line from its stdin.
        env: variables on top of this process's own.
    """

    def __init__(
        self, command: list[str], env: Mapping[str, str], on_event: Callable[[Event], None] | None = None
    ) -> None:
        self._command, self._env, self._on_event = command, env, on_event
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, module: str, args: tuple[str, ...], timeout_s: float) -> ChildRun:
        """Run one program; like `child.run`, it always returns."""
        started = time.monotonic()
        command = (*self._command[:1], module, *args)
        try:
            process = self._ensure()
        except OSError as error:
            return ChildRun(
                command, (), (f"{self._command[0]}: {error.strerror or error}",), None, False, 0.0
            )
        before, seen = len(self._reader.log), []
        job = {"module": module, "args": args, "limit_s": timeout_s}
        code, timed_out = None, False
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
        except OSError:  # it died since the last job; the loop below finds that out
            pass
        while code is None and not timed_out:
            event = self._next(started + timeout_s)
            if event is not None and event["event"] == FINISHED:
                code = int(event["code"])
            elif event is not None:
                seen.append(event)
            elif process.poll() is not None and self._events.empty():
                code = process.returncode
            elif time.monotonic() > started + timeout_s:
                timed_out = True
        if code != 0:
            self.close()
            code = ended_with(process) if code is None else code
        log = tuple(list(self._reader.log)[min(before, len(self._reader.log)) if code == 0 else 0 :])
        return ChildRun(command, tuple(seen), log, code, timed_out, time.monotonic() - started)

    def close(self) -> None:
        """End the child and everything it started."""
        if self._process is not None:
            end_session(self._process, polite=True)
            self._reader.finish()
            self._process = None

    def _next(self, deadline: float) -> Event | None:
        try:
            return self._events.get(timeout=max(0.0, min(0.2, deadline - time.monotonic())))
        except queue.Empty:
            return None

    def _ensure(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._events: queue.Queue[Event] = queue.Queue()
            with interrupt_waits():  # `close`, which the context calls at the end, needs both
                self._process = subprocess.Popen(
                    self._command,
                    env={**os.environ, **BASE_ENV, **self._env},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
                self._reader = Reader(self._process, self._take)
        return self._process

    def _take(self, event: Event) -> None:
        self._events.put(event)
        if self._on_event is not None:
            self._on_event(event)
