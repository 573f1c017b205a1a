"""Unified diffs over bytes: what `patch` and `git apply` take, whatever the encodings."""

from __future__ import annotations

import difflib

from npudoctor.core.ends import equal_ends
from npudoctor.migrate.walk import shown

CONTEXT = 3
MANY_LINES = 5000

# How each byte stands inside a quoted name.
_BYTES = [bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte for byte in range(256)]
for _letter, _byte in zip("abtnvfr", range(7, 14)):
    _BYTES[_byte] = b"\\" + _letter.encode()
for _byte in b'"\\':
    _BYTES[_byte] = b"\\%c" % _byte


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """Unified diff of one file, empty when equal. Lines end at "\\n" only, as `patch` has it."""
    if old == new:
        return b""
    before, after = _lines(old), _lines(new)
    parts = [b"--- " + _name("a/" + path) + b"\n", b"+++ " + _name("b/" + path) + b"\n"]
    for group in _Whole(before, after).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        parts.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, i, j, k, m in group:
            if tag == "equal":
                parts += [_closed(b" " + line) for line in before[i:j]]
            else:
                parts += [_closed(b"-" + line) for line in before[i:j]]
                parts += [_closed(b"+" + line) for line in after[k:m]]
    return b"".join(parts)


class _Whole(difflib.SequenceMatcher):
    """Opcodes of two whole files, looked for only between their equal ends (the search is slow)."""

    def __init__(self, before: list[bytes], after: list[bytes]) -> None:
        head, tail = equal_ends(before, after)
        self._head = head
        self._ends = (len(before) - tail, len(before), len(after) - tail, len(after))
        middle = before[head : len(before) - tail], after[head : len(after) - tail]
        # The short cut for frequent lines (blank ones) makes untidy hunks; only very long files need it.
        super().__init__(None, *middle, autojunk=len(middle[0]) > MANY_LINES)

    def get_opcodes(self) -> list[tuple[str, int, int, int, int]]:  # type: ignore[override]
        """As the base class has it, for the whole files."""
        by = self._head
        inner = [(tag, i + by, j + by, k + by, m + by) for tag, i, j, k, m in super().get_opcodes()]
        return [("equal", 0, by, 0, by), *inner, ("equal", *self._ends)]


def _name(path: str) -> bytes:
    """`path` as git writes it: quoted where a byte of it could break the line or steer a terminal."""
    if shown(path) != path or '"' in path or "\\" in path:
        raw = path.encode("utf-8", "surrogateescape")
        return b'"' + b"".join(_BYTES[byte] for byte in raw) + b'"'
    # A tab ends a name with spaces.
    return (path + ("\t" if " " in path else "")).encode("utf-8")


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
