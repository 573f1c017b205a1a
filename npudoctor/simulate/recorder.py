"""What happened on the simulated device, and on which line of the user's code.

The kernels report many thousand times a second, so an event is one tuple appended to a list
(atomic under the GIL, hence safe from any thread); `fold` turns full lists into counts.

A code position is `(id(code), f_lasti)`: taking it is cheap, and `sites.py` turns it into a
file, a line and the words of that line once, when a report is made.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import CodeType, FrameType
from typing import Any

from npudoctor.simulate.sites import is_library

BATCH = 20_000
WINDOW = 200_000
SYNC, H2D, D2H, MARK = "sync", "h2d", "d2h", "mark"  # a kernel: (operator, position, work)


class Recorder:
    """Counts of one activation.

    Attributes:
        kernels: (operator, position, work) -> launches; `work` as `live.launch` takes it.
        syncs: (SYNC, cause, position, path) -> times; `path` is a tuple of positions, innermost first.
        transfers: (direction, bytes, position, blocking) -> times.
        memory: device word -> [bytes now, peak bytes].
        window: the last events in order, for the timeline.
        phases: phase -> counts; steps: environment steps seen.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.lock = threading.Lock()
        self.codes: dict[int, CodeType] = {}
        self.library: dict[int, bool] = {}
        self.events: list[tuple] = []
        self.blocks: list[tuple] = []
        self.window: list[tuple] = []
        self.window_size = window
        self.kernels: Counter = Counter()
        self.syncs: Counter = Counter()
        self.transfers: Counter = Counter()
        self.memory: dict[int, list[int]] = {}
        self.live_by_line: Counter = Counter()
        self.peak_by_line: Counter = Counter()
        self.phases: dict[str, Counter] = {}
        self.steps = 0
        self.steps_begun = False
        self.step_seconds = 0.0
        self.notes: Counter = Counter()
        self.pending: Counter = Counter()
        self.limits: Counter = Counter()
        self._paths: dict[tuple, tuple] = {}

    # --- positions -------------------------------------------------------------------------

    def path(self, depth: int = 2) -> tuple:
        """Every position from the innermost one outside the simulator up to the program's start."""
        frame: FrameType | None = sys._getframe(depth)
        library = self.library
        found = []
        while frame is not None:
            code = frame.f_code
            key = id(code)
            if key not in library:
                self.classify(code)
            found.append((key, frame.f_lasti))
            frame = frame.f_back
        path = tuple(found)
        return self._paths.setdefault(path, path)  # one object per path, however often it is taken

    def position(self, depth: int = 2) -> tuple | None:
        """The innermost position in the user's code, seen from the caller's caller."""
        return self._user(self.path(depth + 1))

    def classify(self, code: CodeType) -> bool:
        """Remember whether `code` is a library's. Keeping it alive keeps its id from being reused."""
        self.codes[id(code)] = code
        inside = is_library(code.co_filename)
        self.library[id(code)] = inside
        return inside

    def _user(self, path: tuple) -> tuple | None:
        library = self.library
        for position in path:
            if not library[position[0]]:
                return position
        return None

    # --- what the kernels report -----------------------------------------------------------

    def sync(self, cause: str, depth: int = 3) -> None:
        """The host waits for the device."""
        path = self.path(depth)
        self._add((SYNC, cause, self._user(path), path))

    def transfer(self, direction: str, nbytes: int, blocking: bool, cause: str, depth: int = 3) -> Any:
        """Bytes between host and device; `blocking` ones drain the stream as well. Returns the position."""
        path = self.path(depth)
        where = self._user(path)
        self._add((direction, nbytes, where, blocking))
        if blocking:
            self._add((SYNC, cause, where, path))
        return where

    def mark(self, phase: str, steps: int, seconds: float = 0.0) -> None:
        """Everything since the last mark belonged to `phase`; `steps` environment steps took `seconds`."""
        self._add((MARK, phase, steps, seconds))

    def _add(self, event: tuple) -> None:
        self.events.append(event)
        if len(self.events) >= BATCH:
            self.fold()

    # --- folding ---------------------------------------------------------------------------

    def fold(self) -> None:
        """Move the pending events into the counts."""
        with self.lock:
            size = len(self.events)
            batch = self.events[:size]
            del self.events[:size]  # in place: other threads may be appending
            self.window.extend(batch)
            del self.window[: max(0, len(self.window) - self.window_size)]
            self._count(batch)
            self._fold_phases(batch)
            self._fold_blocks()

    def _count(self, batch: list[tuple]) -> None:
        for event, times in Counter(batch).items():
            if len(event) == 3:
                self.kernels[event] += times
            elif event[0] is SYNC:
                self.syncs[event] += times
            elif event[0] is not MARK:
                self.transfers[event] += times

    def _fold_phases(self, batch: list[tuple]) -> None:
        """Give what lies before each mark to the mark's phase; the rest waits for the next mark."""
        start = 0
        for place, event in enumerate(batch):
            if event[0] is MARK:
                counts = self.phases.setdefault(event[1], Counter())
                counts.update(self.pending)
                self.pending.clear()
                _tally(batch[start:place], counts)
                if event[2]:
                    self.steps += event[2]
                    counts["env_steps"] += event[2]
                start = place + 1
        _tally(batch[start:], self.pending)

    def _fold_blocks(self) -> None:
        size = len(self.blocks)
        batch = self.blocks[:size]
        del self.blocks[:size]
        live, peaks, memory = self.live_by_line, self.peak_by_line, self.memory
        for nbytes, device, where in batch:
            entry = memory.get(device)
            if entry is None:
                entry = memory[device] = [0, 0]
            entry[0] += nbytes
            here = live[where] = live[where] + nbytes
            if nbytes > 0:
                if entry[0] > entry[1]:
                    entry[1] = entry[0]
                if here > peaks[where]:
                    peaks[where] = here


def _tally(events: list[tuple], counts: Counter) -> None:
    counts.update("kernels" if len(e) == 3 else e[0] + "s" if e[0] is SYNC else e[0] for e in events)
    for event in events:
        if event[0] is H2D or event[0] is D2H:
            counts[event[0] + "_bytes"] += event[1]
