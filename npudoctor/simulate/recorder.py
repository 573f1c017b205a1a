"""What happened on the simulated device, and on which line of the user's code.

The kernels call `launch`, `transfer`, `sync` and `view`-less allocation hooks many thousand times
a second, so an event is one tuple appended to a list (atomic under the GIL, hence safe from any
thread); `fold` turns full lists into counts.

A code position is `(id(code), f_lasti)`: taking it is cheap, and `sites.py` turns it into a
file, a line and the words of that line once, when a report is made.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from types import CodeType, FrameType
from typing import Any

from npudoctor.simulate.sites import is_library

Position = tuple  # (id of the code object, offset of the instruction in it)

BATCH = 20_000
WINDOW = 200_000
KERNEL, SYNC, H2D, D2H, ALLOC, FREE, MARK = "kernel", "sync", "h2d", "d2h", "alloc", "free", "mark"


class Recorder:
    """Counts of one activation.

    Attributes:
        kernels: (position, operator) -> launches.
        syncs: (position, cause, path) -> times; `path` is a tuple of positions, innermost first.
        transfers: (position, direction, blocking) -> [times, bytes].
        window: the last `WINDOW` events in order, for the timeline.
        phases: phase -> counts; steps: environment steps seen.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.lock = threading.Lock()
        self.codes: dict[int, CodeType] = {}
        self.events: list[tuple] = []
        self.window: list[tuple] = []
        self.window_size = window
        self.kernels: Counter = Counter()
        self.syncs: Counter = Counter()
        self.transfers: dict[tuple, list[int]] = {}
        self.memory: dict[int, list[int]] = {}
        self.live_by_line: Counter = Counter()
        self.peak_by_line: Counter = Counter()
        self.peak_at: dict[int, Any] = {}
        self.phases: dict[str, Counter] = {}
        self.phase = "setup"
        self.pending: Counter = Counter()
        self.steps = 0
        self.step_seconds = 0.0
        self.notes: Counter = Counter()
        self._library: dict[int, bool] = {}

    # --- positions -------------------------------------------------------------------------

    def position(self, depth: int = 2) -> tuple | None:
        """The innermost position in code of the user, seen from the caller's caller."""
        frame: FrameType | None = sys._getframe(depth)
        library = self._library
        while frame is not None:
            code = frame.f_code
            key = id(code)
            inside = library.get(key)
            if inside is None:
                inside = self._classify(code)
            if not inside:
                return (key, frame.f_lasti)
            frame = frame.f_back
        return None

    def path(self, depth: int = 2) -> tuple:
        """Every position from the innermost one outside the simulator up to the program's start."""
        frame: FrameType | None = sys._getframe(depth)
        found = []
        while frame is not None:
            code = frame.f_code
            if id(code) not in self._library:
                self._classify(code)
            if not code.co_filename.startswith(_HERE):
                found.append((id(code), frame.f_lasti))
            frame = frame.f_back
        return tuple(found)

    def _classify(self, code: CodeType) -> bool:
        # Keeping the code object alive keeps its id from being given to another one.
        self.codes[id(code)] = code
        inside = is_library(code.co_filename)
        self._library[id(code)] = inside
        return inside

    # --- what the kernels report -----------------------------------------------------------

    def add(self, event: tuple) -> None:
        """Take one event; fold when a batch is full."""
        self.events.append(event)
        if len(self.events) >= BATCH:
            self.fold()

    def sync(self, cause: str, depth: int = 3) -> None:
        """The host waits for the device."""
        path = self.path(depth)
        self.add((SYNC, cause, self._user(path), path))

    def transfer(self, direction: str, nbytes: int, blocking: bool, cause: str, depth: int = 3) -> Any:
        """Bytes between host and device; `blocking` ones drain the stream as well."""
        path = self.path(depth)
        where = self._user(path)
        self.add((direction, nbytes, where, blocking))
        if blocking:
            self.add((SYNC, cause, where, path))
        return where

    def _user(self, path: tuple) -> tuple | None:
        library = self._library
        for position in path:
            if not library[position[0]]:
                return position
        return None

    # --- folding ---------------------------------------------------------------------------

    def fold(self) -> None:
        """Move the pending events into the counts."""
        with self.lock:
            batch, self.events = self.events, []
            for event in batch:
                self._count(event)
            self.window.extend(batch)
            excess = len(self.window) - self.window_size
            if excess > 0:
                del self.window[:excess]

    def _count(self, event: tuple) -> None:
        kind = event[0]
        pending = self.pending
        if kind is KERNEL:
            self.kernels[(event[2], event[1])] += 1
            pending["kernels"] += 1
        elif kind is SYNC:
            self.syncs[(event[2], event[1], event[3])] += 1
            pending["syncs"] += 1
        elif kind is ALLOC:
            self._allocate(event)
        elif kind is FREE:
            self.memory[event[2]][0] -= event[1]
            self.live_by_line[event[3]] -= event[1]
        elif kind is MARK:
            self._mark(event[1], event[2])
        else:
            entry = self.transfers.setdefault((event[2], kind, event[3]), [0, 0])
            entry[0] += 1
            entry[1] += event[1]
            pending[kind] += 1
            pending[kind + "_bytes"] += event[1]

    def _allocate(self, event: tuple) -> None:
        _, nbytes, device, where = event
        memory = self.memory.setdefault(device, [0, 0])
        memory[0] += nbytes
        self.live_by_line[where] += nbytes
        if memory[0] > memory[1]:
            memory[1] = memory[0]
            self.peak_at[device] = where
        if self.live_by_line[where] > self.peak_by_line[where]:
            self.peak_by_line[where] = self.live_by_line[where]

    def _mark(self, phase: str, steps: int) -> None:
        """Everything since the last mark belongs to `phase`."""
        self.phases.setdefault(phase, Counter()).update(self.pending)
        self.pending.clear()
        if steps:
            self.steps += steps
            self.phases[phase]["steps"] += steps


_HERE = os.path.dirname(os.path.abspath(__file__))
