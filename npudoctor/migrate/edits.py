"""Apply edits to a text, choose which of several changes fit together, and map positions back."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

from npudoctor.migrate.api import Change, Edit


def choose(changes: Sequence[Change]) -> list[Change]:
    """The changes that can be applied in one round, in source order.

    A change whose edits touch those of an earlier one waits for the next round, and so
    does every change of its group. Identical edits (two rules insert the same import) are one.
    """
    waiting: set[str] = set()
    while True:
        taken = _Spans()
        chosen = []
        late: set[str] = set()
        for change in sorted(changes, key=lambda c: (min(e.start for e in c.edits), c.start)):
            groups = {e.group for e in change.edits if e.group}
            if groups & waiting:
                continue
            if not taken.add(change.edits):
                late |= groups
                continue
            chosen.append(change)
        if not late - waiting:
            return chosen
        waiting |= late


class _Spans:
    """Non-overlapping edits added so far."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._edits: list[Edit] = []

    def add(self, edits: Iterable[Edit]) -> bool:
        new = []
        for edit in edits:
            at = bisect.bisect_left(self._starts, edit.start)
            near = self._edits[max(0, at - 1) : at + 2]
            if any(_same(edit, other) for other in near):
                continue
            if any(_touch(edit, other) for other in near):
                return False
            new.append(edit)
        for edit in new:
            at = bisect.bisect_right(self._starts, edit.start)
            self._starts.insert(at, edit.start)
            self._edits.insert(at, edit)
        return True


def _same(a: Edit, b: Edit) -> bool:
    return (a.start, a.end, a.text) == (b.start, b.end, b.text)


def _touch(a: Edit, b: Edit) -> bool:
    if a.start == a.end and b.start == b.end:
        return a.start == b.start  # two insertions at one place: their order would be a guess
    return (a.start < b.end and b.start < a.end) or a.start == b.start


def apply(text: str, edits: Iterable[Edit]) -> str:
    """`text` with non-overlapping `edits` made; identical ones count once."""
    pieces, position = [], 0
    for start, end, new in sorted({(e.start, e.end, e.text) for e in edits}):
        if start < position:
            raise ValueError(f"edits overlap at {start}")
        pieces += [text[position:start], new]
        position = end
    return "".join([*pieces, text[position:]])


class OffsetMap:
    """Positions of the text after several rounds of edits -> positions of the first text."""

    def __init__(self) -> None:
        self._rounds: list[_Round] = []

    def add(self, edits: Iterable[Edit]) -> None:
        """Record one round; `edits` are in the coordinates of the text before it."""
        self._rounds.append(_Round(sorted({(e.start, e.end, len(e.text)) for e in edits})))

    def back(self, offset: int) -> int:
        """Where `offset` of the newest text was in the first; inside an edit, the edit's start."""
        for edits in reversed(self._rounds):
            offset = edits.back(offset)
        return offset

    def forward(self, offset: int) -> int:
        """Where `offset` of the first text is in the newest; inside an edit, the edit's start."""
        for edits in self._rounds:
            offset = edits.forward(offset)
        return offset

    def untouched(self, start: int, end: int) -> bool:
        """Whether `[start, end)` of the newest text stands unchanged in the first."""
        return self.back(end) - self.back(start) == end - start and all(
            self.forward(self.back(x)) == x for x in (start, end)
        )


class _Round:
    """Positions before and after one round of edits (start, end, new length), sorted, without overlaps."""

    def __init__(self, edits: list[tuple[int, int, int]]) -> None:
        self._edits = edits
        self._shifts = [0]  # before each edit, and after the last
        for start, end, length in edits:
            self._shifts.append(self._shifts[-1] + length - (end - start))
        self._starts = [start for start, _, _ in edits]
        self._new_starts = [start + shift for start, shift in zip(self._starts, self._shifts)]

    def back(self, offset: int) -> int:
        after = bisect.bisect_right(self._new_starts, offset)
        if after:
            start, _, length = self._edits[after - 1]
            if offset < self._new_starts[after - 1] + length:
                return start
        return offset - self._shifts[after]

    def forward(self, offset: int) -> int:
        after = bisect.bisect_right(self._starts, offset)
        if after and offset < self._edits[after - 1][1]:
            return self._new_starts[after - 1]
        return offset + self._shifts[after]
