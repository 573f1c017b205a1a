"""Unified diffs over bytes: what `patch` and `git apply` take, whatever the encodings."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from npudoctor.migrate.walk import shown

CONTEXT = 3
MANY_LINES = 5000


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """Unified diff of one file, empty when equal. Lines end at "\\n" only, as `patch` has it."""
    if old == new:
        return b""
    before, after = _lines(old), _lines(new)
    # A tab ends a name with spaces, as git has it.
    name = (shown(path) + ("\t" if " " in path else "")).encode("utf-8")
    parts = [b"--- a/" + name + b"\n", b"+++ b/" + name + b"\n"]
    for group in _groups(before, after):
        first, last = group[0], group[-1]
        parts.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, i, j, k, m in group:
            if tag == "equal":
                parts += [_closed(b" " + line) for line in before[i:j]]
            else:
                parts += [_closed(b"-" + line) for line in before[i:j]]
                parts += [_closed(b"+" + line) for line in after[k:m]]
    return b"".join(parts)


def _groups(before: list[bytes], after: list[bytes]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Hunks of `difflib`, looked for only between the equal ends of the two files."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start, end = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    a, b = before[start : len(before) - end], after[start : len(after) - end]
    # Its short cut for frequent lines (blank ones) makes untidy hunks; only very long files need it.
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=len(a) > MANY_LINES)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        yield [(tag, i + start, j + start, k + start, m + start) for tag, i, j, k, m in group]


def _range(start: int, stop: int) -> bytes:
    """Where a hunk begins and how long it is, in the words of the format."""
    length = stop - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    return [line + b"\n" for line in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _closed(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
