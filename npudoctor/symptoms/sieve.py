"""Find the few lines worth a closer look among those that were never seen before.

Short of work, one regular expression over all literals does it. When a log keeps bringing
new lines (generated text, for instance), the sieve learns from a sample of it a small set of
stems: short pieces, rare in this log, one of which is inside every literal. Searching 60 rare
stems one after the other is several times faster than one expression over 300 literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from npudoctor.symptoms.probes import ECODE_KEY, Probe

LEARN = 4 << 20  # bytes of new lines after which learning pays
SAMPLE = 32 << 10  # bytes of them that are looked at
STEM = (4, 6)  # shortest and longest stem
# What a pass over the sample costs, in line look-ups: weighs scans against false hits.
SCAN_COST = 16

_ECODE_START = re.compile(rb"E[EHIJKLZ]?0000")
_END = -1  # marks the end of a word in the prefix tree


class Sieve:
    """Yields the lines of a text that hold a literal of some probe, or a vendor error code."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._needs = tuple(sorted({need for probe in probes for need in probe.need}))
        self.pattern = re.compile(_tree_pattern(self._needs) + b"|" + ECODE_KEY.pattern)
        self._seen = 0
        self._stems: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ()

    def lines(self, text: bytes) -> dict[bytes, set[bytes]]:
        """Lines of `text` to look at, each with the literals it holds."""
        self._seen += len(text)
        if self._seen > LEARN and not self._stems:
            self._stems = learn(self._needs, text[:SAMPLE])
        if not self._stems:
            return {line: self.needs_in(line) for line in _lines_with(text, self.pattern)}
        found: dict[bytes, set[bytes]] = {}
        for stem, needs in self._stems:
            at = text.find(stem)
            while at >= 0:
                line, end = _line_at(text, at)
                held = [need for need in needs if need in line]
                if held:
                    found.setdefault(line, set()).update(held)
                at = text.find(stem, end)
        for line in _lines_with(text, _ECODE_START):
            if ECODE_KEY.search(line):
                found.setdefault(line, set())
        return found

    def needs_in(self, line: bytes) -> set[bytes]:
        """The literals that one line holds."""
        return {need for need in self._needs if need in line}


def learn(needs: tuple[bytes, ...], sample: bytes) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """Stems with the literals each stands for: few, and rare in `sample` (greedy cover)."""
    inside: dict[bytes, list[bytes]] = {}
    for need in needs:
        shortest, longest = min(STEM[0], len(need)), min(STEM[1], len(need))
        pieces = {
            need[start: start + size]
            for size in range(shortest, longest + 1) for start in range(len(need) - size + 1)
        }
        for piece in pieces:
            inside.setdefault(piece, []).append(need)
    cost = {piece: SCAN_COST + sample.count(piece) for piece in inside}
    left = {piece: len(found) for piece, found in inside.items()}
    open_needs, stems = set(needs), []
    pieces_of: dict[bytes, list[bytes]] = {}
    for piece, found in inside.items():
        for need in found:
            pieces_of.setdefault(need, []).append(piece)
    while open_needs:
        best = max(left, key=lambda piece: left[piece] / cost[piece])
        covered = tuple(need for need in inside[best] if need in open_needs)
        stems.append((best, covered))
        open_needs.difference_update(covered)
        for need in covered:
            for piece in pieces_of[need]:
                left[piece] -= 1
    return tuple(stems)


def _lines_with(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    found = pattern.search(text)
    while found is not None:
        line, end = _line_at(text, found.start())
        yield line
        found = pattern.search(text, end)


def _line_at(text: bytes, at: int) -> tuple[bytes, int]:
    """The line around a place, and where the next one starts."""
    start = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    return (text[start:], len(text)) if end < 0 else (text[start:end], end + 1)


def _tree_pattern(words: Iterable[bytes]) -> bytes:
    """A pattern that finds any of the words, sharing their common beginnings."""
    tree: dict[int, dict] = {}
    for word in words:
        node = tree
        for byte in word:
            node = node.setdefault(byte, {})
        node[_END] = {}
    return _alternatives(tree)


def _alternatives(tree: dict[int, dict]) -> bytes:
    if not tree or _END in tree:
        return b""  # the shortest word of a branch is enough
    parts = [re.escape(bytes([byte])) + _alternatives(below) for byte, below in sorted(tree.items())]
    return parts[0] if len(parts) == 1 else b"(?:" + b"|".join(parts) + b")"
