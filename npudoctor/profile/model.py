"""A trace as columns: five arrays instead of five million objects, so that 1 GB of JSON fits."""

from __future__ import annotations

import enum
import math
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np


@enum.unique
class Kind(enum.IntEnum):
    """What an interval of a trace is, whatever tool wrote it."""

    DEVICE = 0  # a kernel on the device
    COPY = 1  # a copy on the device's timeline
    COMMUNICATION = 2  # a collective on the device's timeline
    HOST_OP = 3  # an operator as the framework dispatches it
    RUNTIME = 4  # a runtime call of the host that neither launches nor waits
    LAUNCH = 5  # a runtime call that enqueues a kernel
    SYNC = 6  # the host waits for the device, or reads a value from it
    PYTHON = 7  # a frame of the Python tracer
    ANNOTATION = 8  # record_function and the like


ON_DEVICE = (Kind.DEVICE, Kind.COPY, Kind.COMMUNICATION)


@dataclass(frozen=True)
class Columns:
    """Intervals, sorted by start.

    Attributes:
        start: (n,) float64, microseconds since the first event of the trace.
        end: (n,) float64, microseconds.
        kind: (n,) int8, `Kind`.
        name: (n,) int32, index into the trace's names.
        track: (n,) int32, index into the trace's tracks (thread or stream).
        stack: (n,) int32, index into the trace's stacks, -1 for none.
    """

    start: np.ndarray
    end: np.ndarray
    kind: np.ndarray
    name: np.ndarray
    track: np.ndarray
    stack: np.ndarray

    def take(self, mask: np.ndarray) -> Columns:
        """The intervals selected by a boolean mask or an index array."""
        return Columns(
            *(column[mask] for column in (self.start, self.end, self.kind, self.name, self.track, self.stack))
        )

    def of(self, *kinds: Kind) -> Columns:
        """The intervals of these kinds."""
        return self.take(np.isin(self.kind, [int(k) for k in kinds]))

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Trace:
    """One recorded run.

    Attributes:
        source: where it was read from.
        form: `torch`, `ascend` or `simulated`.
        columns: all intervals.
        names, tracks, stacks: what the indices stand for.
        aicpu: indices of names known to have run on the AI CPU.
        skipped: events that were not intervals or had no usable time.
        copied_bytes: bytes of the copies whose size the trace tells.
        cut: the file ended in the middle of its events.
    """

    source: str
    form: str
    columns: Columns
    names: tuple[str, ...]
    tracks: tuple[str, ...]
    stacks: tuple[str, ...]
    aicpu: frozenset[int]
    skipped: int = 0
    copied_bytes: float = 0.0
    cut: bool = False

    @property
    def has_device(self) -> bool:
        """Whether anything ran on a device (else the trace shows the host alone)."""
        return bool(np.isin(self.columns.kind, [int(k) for k in ON_DEVICE]).any())


class Builder:
    """Collects intervals one by one in compact arrays; `build` sorts them into a `Trace`."""

    def __init__(self) -> None:
        self._start, self._end = array("d"), array("d")
        self._kind = array("b")
        self._name, self._track, self._stack = array("i"), array("i"), array("i")
        self._names, self._tracks, self._stacks = Interner(), Interner(), Interner()
        self._aicpu: set[int] = set()
        self.skipped = 0
        self.copied_bytes = 0.0
        self._first: int | None = None

    def __len__(self) -> int:
        return len(self._start)

    def since_first(self, time: Any) -> float:
        """Microseconds since the first time given.

        Times of an NPU are text, microseconds since 1970 with three decimals: as one float they
        would be rounded to a quarter of a microsecond.

        Raises:
            TypeError, ValueError, OverflowError: not a time.
        """
        if isinstance(time, str):
            whole, fraction = _split(time)
        else:
            whole, fraction = float(time), 0.0
        if self._first is None:
            self._first = math.floor(whole)
            if abs(self._first) >= 1e18:
                self._first = None
                raise ValueError("not a time of this world")
        return float(whole - self._first) + fraction

    def add(
        self,
        kind: Kind,
        name: str,
        track: str,
        start: float,
        duration: float,
        stack: str | None = None,
        *,
        aicpu: bool = False,
    ) -> None:
        """Append one interval; times in microseconds."""
        index = self._names(name)
        self._start.append(start)
        self._end.append(start + duration)
        self._kind.append(int(kind))
        self._name.append(index)
        self._track.append(self._tracks(track))
        self._stack.append(self._stacks(stack) if stack else -1)
        if aicpu:
            self._aicpu.add(index)

    def build(self, source: str, form: str, *, cut: bool = False) -> Trace:
        """Sort by start, longer first at equal starts, so that parents come before children."""
        start, end = _numpy(self._start, np.float64), _numpy(self._end, np.float64)
        order = np.lexsort((-end, start))
        zero = start[order[0]] if len(order) else 0.0
        columns = Columns(
            start[order] - zero,
            end[order] - zero,
            _numpy(self._kind, np.int8)[order],
            _numpy(self._name, np.int32)[order],
            _numpy(self._track, np.int32)[order],
            _numpy(self._stack, np.int32)[order],
        )
        return Trace(
            source,
            form,
            columns,
            self._names.all(),
            self._tracks.all(),
            self._stacks.all(),
            frozenset(self._aicpu),
            self.skipped,
            self.copied_bytes,
            cut,
        )


def _split(time: str) -> tuple[float, float]:
    """A time as its whole part, exact up to 2^53, and its fraction with every decimal."""
    whole, _, fraction = time.strip().partition(".")
    if whole.isdecimal() and fraction.isdecimal():
        return float(whole), float(f"0.{fraction}")
    return float(time), 0.0


class Interner:
    """Gives each distinct string a small number."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._index.setdefault(text, len(self._index))

    def all(self) -> tuple[str, ...]:
        """The strings in order of their numbers."""
        return tuple(self._index)


def _numpy(column: array[Any], dtype: Any) -> np.ndarray:
    return np.frombuffer(column, dtype=dtype) if len(column) else np.zeros(0, dtype)
