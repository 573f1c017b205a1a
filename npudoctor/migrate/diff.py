"""Unified diffs over bytes: what `patch` and `git apply` take, whatever the encodings."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from npudoctor.migrate.walk import shown

CONTEXT = 3


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """Unified diff of one file, empty when equal. Lines end at "\\n" only, as `patch` has it."""
    before, after = _lines(old), _lines(new)
    name = shown(path) + ("\t" if " " in path else "")  # a tab ends a name with spaces, as git has it
    hunks = _diff(before, after, f"a/{name}", f"b/{name}")
    return b"".join(_closed(line) for line in hunks)


def _diff(before: list[bytes], after: list[bytes], old_name: str, new_name: str) -> Iterator[bytes]:
    """`difflib.unified_diff` of what lies between the equal ends (it is slow on long files)."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    first = max(0, head - CONTEXT)
    last = max(0, tail - CONTEXT)
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        before[first : len(before) - last],
        after[first : len(after) - last],
        old_name.encode("utf-8"),
        new_name.encode("utf-8"),
        n=CONTEXT,
    )
    for line in lines:
        yield _shifted(line, first) if line.startswith(b"@@ ") else line


def _shifted(header: bytes, by: int) -> bytes:
    """A hunk header with both starts moved down by `by` lines."""
    words = header.split(b" ")
    for position in (1, 2):
        sign, numbers = words[position][:1], words[position][1:].split(b",")
        numbers[0] = str(int(numbers[0]) + by).encode("ascii")
        words[position] = sign + b",".join(numbers)
    return b" ".join(words)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    return [line + b"\n" for line in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _closed(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
