"""What happened on the simulated device, and on which line of the user's code.

The kernels report many thousand times a second, so an event is four words added to a flat list
(one addition is atomic under the GIL, hence safe from any thread); `fold` turns full lists into
counts. Nothing is kept per event that Python's garbage collector would have to walk: with one
tuple each, its collections alone took a tenth of a simulated program's time.

A code position is `(id(code), f_lasti)`: taking it is cheap, and `sites.py` turns it into a
file, a line and the words of that line once, when a report is made.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from npudoctor.simulate.sites import is_library

WORDS = 4  # of an event
BATCH = 20_000 * WORDS
BLOCKS = 600  # below the collector's own threshold, so that it finds nothing to do
WINDOW = 200_000
SYNC, H2D, D2H, MARK = "sync", "h2d", "d2h", "mark"  # a kernel: (operator, position, work, None)


class Recorder:
    """Counts of one activation.

    Attributes:
        kernels: (operator, position, work) -> launches; `work` as `live.launch` takes it.
        syncs: (SYNC, cause, position, path) -> times; `path` is a tuple of positions, innermost first.
        transfers: (direction, bytes, position, blocking) -> times.
        memory: device word -> [bytes now, peak bytes].
        window: the last events in order, flat, for the timeline.
        phases: phase -> counts; steps: environment steps seen.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.lock = threading.Lock()
        self.codes: dict[int, CodeType] = {}
        self.library: dict[int, bool] = {}
        self.places: dict[tuple, tuple] = {}  # one object per position, however often it is taken
        self.events: list[Any] = []
        self.blocks: list[Any] = []  # a block when it begins, and again when it ends
        self.note_block = self.blocks.append
        self.alive: dict[int, Any] = {}
        self.window: list[Any] = []
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
        self.notes: Counter = Counter()
        self.pending: Counter = Counter()
        self.limits: Counter = Counter()
        self._paths: dict[tuple, tuple[tuple, tuple | None]] = {}

    # --- positions -------------------------------------------------------------------------

    def path(self, depth: int = 2) -> tuple[tuple, tuple | None]:
        """Every position from the innermost one outside the simulator outwards, and the user's first."""
        frame: FrameType | None = sys._getframe(depth)
        library = self.library
        found: list[int] = []
        while frame is not None:
            code = frame.f_code
            key = id(code)
            if key not in library:
                self.classify(code)
            found += (key, frame.f_lasti)
            frame = frame.f_back
        flat = tuple(found)
        known = self._paths.get(flat)
        if known is None:
            path = tuple(self.places.setdefault(p, p) for p in zip(flat[::2], flat[1::2]))
            user = next((position for position in path if not library[position[0]]), None)
            known = self._paths.setdefault(flat, (path, user))
        return known

    def position(self, depth: int = 2) -> tuple | None:
        """The innermost position in the user's code, seen from the caller's caller."""
        return self.path(depth + 1)[1]

    def classify(self, code: CodeType) -> bool:
        """Remember whether `code` is a library's. Keeping it alive keeps its id from being reused."""
        self.codes[id(code)] = code
        inside = is_library(code.co_filename)
        self.library[id(code)] = inside
        return inside

    # --- what the kernels report -----------------------------------------------------------

    def sync(self, cause: str, depth: int = 3) -> None:
        """The host waits for the device."""
        path, where = self.path(depth)
        self._add((SYNC, cause, where, path))

    def transfer(self, direction: str, nbytes: int, blocking: bool, cause: str, depth: int = 3) -> Any:
        """Bytes between host and device; `blocking` ones drain the stream as well. Returns the position."""
        path, where = self.path(depth)
        self._add((direction, nbytes, where, blocking))
        if blocking:
            self._add((SYNC, cause, where, path))
        return where

    def mark(self, phase: str, steps: int, seconds: float = 0.0) -> None:
        """Everything since the last mark belonged to `phase`; `steps` environment steps took `seconds`."""
        self._add((MARK, phase, steps, seconds))

    def _add(self, event: tuple) -> None:
        self.events += event
        if len(self.events) >= BATCH:
            self.fold()

    # --- folding ---------------------------------------------------------------------------

    def timeline(self) -> Iterator[tuple]:
        """The events of the window, in order, as tuples of four."""
        words = iter(self.window)
        return zip(words, words, words, words)

    def fold(self) -> None:
        """Move the pending events into the counts."""
        with self.lock:
            size = len(self.events)
            batch = self.events[:size]
            del self.events[:size]  # in place: other threads may be appending
            self.window += batch
            del self.window[: max(0, len(self.window) - WORDS * self.window_size)]
            self._count(batch)
            self._fold_phases(batch)
            self._fold_blocks()

    def fold_blocks(self) -> None:
        """Move begun and ended blocks of memory into the counts."""
        with self.lock:
            self._fold_blocks()

    def _count(self, batch: list[Any]) -> None:
        words = iter(batch)
        for event, times in Counter(zip(words, words, words, words)).items():
            if event[3] is None:
                self.kernels[event[:3]] += times
            elif event[0] is SYNC:
                self.syncs[event] += times
            elif event[0] is not MARK:
                self.transfers[event] += times

    def _fold_phases(self, batch: list[Any]) -> None:
        """Give what lies before each mark to the mark's phase; the rest waits for the next mark."""
        start = 0
        for place in (WORDS * i for i, kind in enumerate(batch[::WORDS]) if kind is MARK):
            _, phase, steps, _ = batch[place : place + WORDS]
            counts = self.phases.setdefault(phase, Counter())
            counts.update(self.pending)
            self.pending.clear()
            _tally(batch[start:place], counts)
            if steps:
                self.steps += steps
                counts["env_steps"] += steps
            start = place + WORDS
        _tally(batch[start:], self.pending)

    def _fold_blocks(self) -> None:
        size = len(self.blocks)
        batch = self.blocks[:size]
        del self.blocks[:size]
        alive = self.alive
        for block in batch:
            if alive.pop(id(block), None) is None:
                alive[id(block)] = block
                self._held(block.nbytes, block.device, block.where)
            else:
                self._held(-block.nbytes, block.device, block.where)

    def _held(self, nbytes: int, device: int, where: tuple | None) -> None:
        entry = self.memory.get(device)
        if entry is None:
            entry = self.memory[device] = [0, 0]
        entry[0] += nbytes
        here = self.live_by_line[where] = self.live_by_line[where] + nbytes
        if nbytes > 0:
            if entry[0] > entry[1]:
                entry[1] = entry[0]
            if here > self.peak_by_line[where]:
                self.peak_by_line[where] = here


def _tally(events: list[Any], counts: Counter) -> None:
    kinds = events[::WORDS]
    launched = events[WORDS - 1 :: WORDS].count(None)
    if launched:
        counts["kernels"] += launched
    if launched == len(kinds):
        return
    for place, kind in enumerate(kinds):
        if kind is SYNC:
            counts["syncs"] += 1
        elif kind is H2D or kind is D2H:
            counts[kind] += 1
            counts[kind + "_bytes"] += events[WORDS * place + 1]
