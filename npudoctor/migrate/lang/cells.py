"""Find the code cells in the text of a notebook, and put new code back without touching anything else.

The file is read as JSON tokens with their places; only the string tokens of changed source
lines are written anew. Outputs, metadata, key order, indentation and escapes stay as they are.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from npudoctor.core.ends import equal_ends

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_PIECE = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|[^\\]", re.DOTALL)
_SOURCES = ("source", "input")  # `input` is the name in format 3


class NotebookError(Exception):
    """The text is not a notebook that can be edited."""


@dataclass
class Cell:
    """One code cell.

    Attributes:
        number: position among all cells, from 1.
        tokens: span in the file of each string token of its source.
        inner: span between the brackets of the list, or None when the source is one string.
        lines: the decoded strings, in order.
    """

    number: int
    tokens: list[tuple[int, int]] = field(default_factory=list)
    inner: tuple[int, int] | None = None
    lines: list[str] = field(default_factory=list)
    kind: str = ""

    @property
    def text(self) -> str:
        """The code."""
        return "".join(self.lines)


@dataclass
class _Frame:
    mapping: bool
    name: str
    key: str = ""
    has_key: bool = False
    start: int = 0


def code_cells(text: str) -> list[Cell]:
    """Code cells of a notebook whose kernel is Python.

    Raises:
        NotebookError: not JSON, not a notebook, or of another language.
    """
    _check_language(_load(text))
    return [cell for cell in _Scanner(text).run() if cell.kind == "code" and cell.tokens]


def replace_code(text: str, new: dict[int, str]) -> str:
    """`text` with the code of the cells in `new` (by number) exchanged.

    Raises:
        NotebookError: the result would differ in more than code.
    """
    edits: list[tuple[int, int, str]] = []
    for cell in code_cells(text):
        if cell.number in new and new[cell.number] != cell.text:
            edits += _cell_edits(text, cell, new[cell.number])
    pieces, position = [], 0
    for start, end, piece in sorted(edits):
        pieces += [text[position:start], piece]
        position = end
    result = "".join([*pieces, text[position:]])
    if _without_code(_load(result)) != _without_code(_load(text)):
        raise NotebookError("the notebook would change outside its code")
    got = {cell.number: cell.text for cell in code_cells(result)}
    if any(got.get(number) != code for number, code in new.items()):
        raise NotebookError("the code did not survive the way back")
    return result


def _load(text: str) -> Any:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotebookError(f"not JSON: {error}") from None
    if not isinstance(document, dict) or not ("cells" in document or "worksheets" in document):
        raise NotebookError("no cells")
    return document


def _check_language(document: Any) -> None:
    metadata = document.get("metadata") or {}
    names = [
        (metadata.get(part) or {}).get(key)
        for part, key in (("kernelspec", "language"), ("language_info", "name"))
        if isinstance(metadata, dict) and isinstance(metadata.get(part) or {}, dict)
    ]
    if any(isinstance(name, str) and not name.lower().startswith(("python", "ipython")) for name in names):
        raise NotebookError("not Python")


class _Scanner:
    """One pass over the tokens; keeps the path of keys on a stack of its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: list[_Frame] = []
        self.cells: list[Cell] = []

    def run(self) -> list[Cell]:
        for match in _TOKEN.finditer(self.text):
            token = match.group()
            if token in "{[":
                self._open(token, match.end())
            elif token in "}]":
                self._close(match.start())
            elif token == ",":
                if self.frames:
                    self.frames[-1].has_key = False
            elif token[0] == '"':
                self._string(match)
        return self.cells

    def _open(self, token: str, after: int) -> None:
        parent = self.frames[-1] if self.frames else None
        name = parent.key if parent and parent.mapping else ""
        self.frames.append(_Frame(token == "{", name, start=after))
        if token == "{" and parent is not None and parent.name == "cells" and not parent.mapping:
            self.cells.append(Cell(len(self.cells) + 1))

    def _close(self, at: int) -> None:
        if not self.frames:
            return
        frame = self.frames.pop()
        if frame.name in _SOURCES and not frame.mapping and self._in_cell() and self.cells[-1].tokens:
            self.cells[-1].inner = (frame.start, at)

    def _in_cell(self) -> bool:
        """Whether the innermost frame is the mapping of a cell."""
        if len(self.frames) < 2:
            return False
        outer, inner = self.frames[-2:]
        return inner.mapping and outer.name == "cells" and not outer.mapping

    def _string(self, match: re.Match[str]) -> None:
        if not self.frames:
            return
        frame = self.frames[-1]
        if frame.mapping and not frame.has_key:
            frame.key, frame.has_key = match.group()[1:-1], True
            return
        if frame.mapping and self._in_cell():
            if frame.key == "cell_type":
                self.cells[-1].kind = match.group()[1:-1]
            elif frame.key in _SOURCES:
                self._add(match)
        elif not frame.mapping and frame.name in _SOURCES:
            self.frames.pop()
            if self._in_cell():
                self._add(match)
            self.frames.append(frame)

    def _add(self, match: re.Match[str]) -> None:
        self.cells[-1].tokens.append(match.span())
        self.cells[-1].lines.append(json.loads(match.group(), strict=False))


def _cell_edits(text: str, cell: Cell, new: str) -> list[tuple[int, int, str]]:
    """Edits in the file that turn the code of `cell` into `new`."""
    before, after = cell.lines, _as_lines(new)
    if cell.inner is None or (len(before) == 1 and before[0].count("\n") > 1):
        return [_token_edit(text, cell.tokens[0], before[0], new)]
    if len(before) == len(after):
        changed = [i for i in range(len(before)) if before[i] != after[i]]
        return [_token_edit(text, cell.tokens[i], before[i], after[i]) for i in changed]
    return [(*_list_span(cell), _list_text(text, cell, after))]


def _as_lines(code: str) -> list[str]:
    pieces = code.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _list_span(cell: Cell) -> tuple[int, int]:
    return cell.tokens[0][0], cell.tokens[-1][1]


def _list_text(text: str, cell: Cell, after: list[str]) -> str:
    """The tokens of a list of lines, unchanged ones as they were written."""
    assert cell.inner is not None
    if len(cell.tokens) > 1:
        between = text[cell.tokens[0][1] : cell.tokens[1][0]]
    else:
        between = "," + (text[cell.inner[0] : cell.tokens[0][0]] or " ")
    escaped = _is_escaped(text[cell.inner[0] : cell.inner[1]])
    tokens: list[str] = []
    matcher = difflib.SequenceMatcher(None, cell.lines, after, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            tokens += [text[start:end] for start, end in cell.tokens[i:j]]
        else:
            twins = _twins(cell.lines[i:j], after[k:m])
            for number, line in enumerate(after[k:m]):
                twin = twins.get(number)
                if twin is None:
                    tokens.append(json.dumps(line, ensure_ascii=escaped))
                else:
                    tokens.append(_patched(text, cell.tokens[i + twin], cell.lines[i + twin], line))
    return between.join(tokens)


def _twins(before: list[str], after: list[str]) -> dict[int, int]:
    """Line of `after` -> the line of `before` it was made from: most of its ends are the same."""
    found: dict[int, int] = {}
    start = 0
    for number, old in enumerate(before):
        scores = [(sum(equal_ends(old, new)), -i) for i, new in enumerate(after) if i >= start]
        best, index = max(scores, default=(0, 0))
        if 2 * best > len(old):
            found[-index] = number
            start = 1 - index
    return found


def _patched(text: str, span: tuple[int, int], old: str, new: str) -> str:
    """The token at `span` with only what differs between `old` and `new` written anew."""
    start, end, piece = _token_edit(text, span, old, new)
    return text[span[0] : start] + piece + text[end : span[1]]


def _token_edit(text: str, span: tuple[int, int], old: str, new: str) -> tuple[int, int, str]:
    """Exchange only what differs between the decoded strings `old` and `new` of one token."""
    head, tail = equal_ends(old, new)
    raw = text[span[0] + 1 : span[1] - 1]
    offsets = [match.start() for match in _PIECE.finditer(raw)] + [len(raw)]
    first, last = offsets[head], offsets[len(old) - tail]
    piece = json.dumps(new[head : len(new) - tail], ensure_ascii=_is_escaped(raw))[1:-1]
    return span[0] + 1 + first, span[0] + 1 + last, piece


def _is_escaped(raw: str) -> bool:
    """Whether non-ASCII characters are written as escapes there (JSON's default)."""
    return raw.isascii()


def _without_code(document: Any) -> Any:
    """A copy of the document with the source of every code cell blanked."""
    copy = dict(document)
    for name in ("cells", "worksheets"):
        if isinstance(copy.get(name), list):
            copy[name] = [_blank(cell) for cell in copy[name]]
    return copy


def _blank(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    if isinstance(cell.get("cells"), list):  # a worksheet of format 3
        return {**cell, "cells": [_blank(inner) for inner in cell["cells"]]}
    if cell.get("cell_type") == "code":
        return {key: value for key, value in cell.items() if key not in _SOURCES}
    return cell
