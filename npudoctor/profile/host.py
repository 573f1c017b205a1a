"""The host's side of a trace: what it was doing at a moment, and which waits it did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from npudoctor.profile import classify, intervals
from npudoctor.profile.model import ON_DEVICE, Columns, Kind, Trace

TOLERANCE_US = 1.0

# `npudoctor.sync item train.py:42`, written by the recorder
_MARK = re.compile(r"npudoctor\.sync (?P<call>\S+) (?P<line>.+:\d+)")
# `train.py(42): update`, written by the Python tracer: the line where the function starts
_FRAME = re.compile(r"(?P<path>.+)\((?P<line>\d+)\): (?P<function>.+)")
_LIBRARY = re.compile(
    r"(^|/)(torch|torch_npu|numpy|gymnasium|contextlib|threading|runpy|npudoctor/profile)(/|\.py)|<"
)
_LINE = re.compile(r"(?P<path>.+):(?P<line>\d+).*")


@dataclass(frozen=True)
class Where:
    """A place: the host call and the source line behind it.

    Attributes:
        call: operator, runtime call or function.
        line: `file:line` where known, else empty.
        exact: True when `line` is the statement itself, False when only its function is known.
    """

    call: str
    line: str
    exact: bool


class Host:
    """Queries over the host intervals of one trace."""

    def __init__(self, trace: Trace, columns: Columns) -> None:
        self._trace = trace
        self._columns = columns
        self._main = _main_track(columns)
        self._nests: dict[int, Nest] = {}
        calls = (Kind.HOST_OP, Kind.SYNC, Kind.LAUNCH, Kind.RUNTIME, Kind.ANNOTATION)
        self._calls = Nest(columns.take(columns.track == self._main).of(*calls))
        self.syncs = self._find_syncs(columns)
        self.kernels = _kernels(trace, columns)
        self.transfer_time = self._transfers(columns)

    def _find_syncs(self, columns: Columns) -> Columns:
        """The waits. An operator that reads a value counts only when the device took part in it.

        Optimisers keep their step count in host tensors and read it with `.item()`: in a trace
        with a device such a read has no runtime call or copy under it, and without a device
        it is known by lying inside `Optimizer.step`.
        """
        found = _outermost(columns.of(Kind.SYNC))
        names = self._trace.names
        reads = np.array([classify.match("host_op_name", names[n]) == "sync" for n in found.name], bool)
        spans = np.stack((found.start, found.end), axis=1)
        if self._trace.has_device:
            waits = columns.of(Kind.SYNC)
            waits = waits.take(
                np.array([classify.match("runtime_name", names[n]) == "sync" for n in waits.name], bool)
            )
            copies = columns.of(Kind.COPY)
            touched = intervals.union(
                np.concatenate((waits.start, copies.start)), np.concatenate((waits.end, copies.end))
            )
            keep = ~reads | (intervals.overlap_of_each(spans, touched) > 0)
        else:
            marks = [i for i, n in enumerate(names) if n.startswith("Optimizer.")]
            steps = columns.of(Kind.ANNOTATION)
            steps = steps.take(np.isin(steps.name, marks))
            keep = ~reads | ~(intervals.overlap_of_each(spans, intervals.union(steps.start, steps.end)) > 0)
        return found.take(keep)

    def _transfers(self, columns: Columns) -> np.ndarray:
        """Time the host spends in operators that move data (only where a device copy runs beside it)."""
        names = self._trace.names
        moving = {i for i, n in enumerate(names) if classify.match("host_op_name", n) == "transfer"}
        ops = columns.of(Kind.HOST_OP)
        ops = ops.take(np.isin(ops.name, list(moving)))
        copies = columns.of(Kind.COPY)
        if not len(ops) or not len(copies):
            return intervals.EMPTY
        spans = np.stack((ops.start, ops.end), axis=1)
        used = intervals.overlap_of_each(spans, intervals.union(copies.start, copies.end)) > 0
        return intervals.union(ops.start[used], ops.end[used])

    def sync_before(self, idle: np.ndarray) -> np.ndarray:
        """(n,) for each idle gap the sync whose wait ended it being drained, or -1.

        The host waited (sync started before the device ran dry), the wait ended inside the
        gap, and only then could the host launch the next kernel.
        """
        if not len(self.syncs):
            return np.full(len(idle), -1)
        order = np.argsort(self.syncs.end, kind="stable")
        ends = self.syncs.end[order]
        first = np.searchsorted(ends, idle[:, 0] - TOLERANCE_US, side="left")
        valid = first < len(ends)
        index = np.where(valid, order[np.minimum(first, len(ends) - 1)], -1)
        fits = valid & (self.syncs.start[index] <= idle[:, 0] + TOLERANCE_US)
        fits &= self.syncs.end[index] <= idle[:, 1] + TOLERANCE_US
        return np.where(fits, index, -1)

    def where_sync(self, index: int) -> Where:
        """The place of one sync."""
        one = self.syncs.take(np.array([index]))
        return self._place(
            self._trace.names[int(one.name[0])], int(one.stack[0]), int(one.track[0]), float(one.start[0])
        )

    def where_at(self, moment: float) -> Where:
        """What the main thread was doing at a moment: innermost call and the user's frame."""
        names = self._trace.names
        calls = self._calls.columns
        for call in self._calls.open_at(moment):
            return self._place(names[int(calls.name[call])], int(calls.stack[call]), self._main, moment)
        frames = self._frames(self._main)
        innermost = next(frames.open_at(moment), None)
        name = names[int(frames.columns.name[innermost])] if innermost is not None else "?"
        return self._place(_function(name), -1, self._main, moment)

    def _place(self, name: str, stack: int, track: int, moment: float) -> Where:
        mark = _MARK.fullmatch(name)
        if mark:
            return Where(mark["call"], mark["line"], True)
        if stack >= 0:
            line = user_line(self._trace.stacks[stack])
            if line:
                return Where(name, line, True)
        return Where(name, self._user_frame(self._frames(track), moment), False)

    def _frames(self, track: int) -> Nest:
        if track not in self._nests:
            frames = self._columns.of(Kind.PYTHON)
            self._nests[track] = Nest(frames.take(frames.track == track))
        return self._nests[track]

    def _user_frame(self, frames: Nest, moment: float) -> str:
        """`file:line` of the innermost frame that is not library code."""
        for index in frames.open_at(moment):
            match = _FRAME.fullmatch(self._trace.names[int(frames.columns.name[index])])
            if match and not _LIBRARY.search(match["path"]):
                return f"{match['path']}:{match['line']}"
        return ""


def user_line(stack: str) -> str:
    """The innermost user line of a recorded call stack (`file(line): function; ...`), as `file:line`."""
    for entry in re.split(r"[;\r\n]+", stack):
        match = _FRAME.fullmatch(entry.strip()) or _LINE.fullmatch(entry.strip())
        if match and not _LIBRARY.search(match["path"]):
            return f"{match['path']}:{match['line']}"
    return ""


def _main_track(columns: Columns) -> int:
    host = columns.take(~np.isin(columns.kind, [int(k) for k in ON_DEVICE]))
    if not len(host):
        return -1
    ops = host.of(Kind.HOST_OP, Kind.SYNC, Kind.PYTHON)
    tracks = ops.track if len(ops) else host.track
    return int(np.bincount(tracks).argmax())


def _outermost(columns: Columns) -> Columns:
    """Intervals that lie inside no earlier one of their track (columns are sorted, parents first)."""
    keep = np.ones(len(columns), bool)
    for track in np.unique(columns.track):
        mine = np.flatnonzero(columns.track == track)
        reach = np.maximum.accumulate(columns.end[mine])
        keep[mine[1:]] = columns.end[mine][1:] > reach[:-1]
    return columns.take(keep)


def _kernels(trace: Trace, columns: Columns) -> Columns:
    """Operators that would launch a kernel on a device: innermost ones that are not views of others."""
    ops = columns.of(Kind.HOST_OP)
    free = [i for i, name in enumerate(trace.names) if classify.match("host_op_name", name) == "metadata"]
    keep = np.ones(len(ops), bool)
    for track in np.unique(ops.track):
        mine = np.flatnonzero(ops.track == track)  # parents come first: who has a child is no leaf
        keep[mine[:-1]] = ops.start[mine[1:]] >= ops.end[mine[:-1]]
    return ops.take(keep & ~np.isin(ops.name, free))


class Nest:
    """Nested intervals of one track: which are open at a moment, innermost first.

    Built once in O(n); each question costs a binary search and the depth of the nest.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._parent = np.full(len(columns), -1, np.int64)
        stack: list[int] = []
        ends = columns.end.tolist()
        for i, start in enumerate(columns.start.tolist()):
            while stack and ends[stack[-1]] <= start:
                stack.pop()
            if stack:
                self._parent[i] = stack[-1]
            stack.append(i)

    def open_at(self, moment: float) -> Iterator[int]:
        """Indices of the intervals open at `moment`, innermost first."""
        i = int(np.searchsorted(self.columns.start, moment, side="right")) - 1
        while i >= 0:
            if self.columns.end[i] > moment:
                yield i
            i = int(self._parent[i])


def _function(frame: str) -> str:
    match = _FRAME.fullmatch(frame)
    return match["function"] if match else frame
