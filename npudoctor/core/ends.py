"""Where two sequences differ: what they have in common at either end."""

from __future__ import annotations

from collections.abc import Sequence


def equal_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Lengths of the common beginning and of the common end, which do not overlap in either."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail
