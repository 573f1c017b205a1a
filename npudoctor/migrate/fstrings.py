"""Exact spans inside f-strings, which `ast` gives wrongly before Python 3.12.

The text of each f-string is cut into its replacement fields by a small scanner, each
expression is parsed on its own, and its positions are carried over node by node.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

Spans = dict[ast.AST, tuple[int, int]]
_OPEN = re.compile(r"([a-zA-Z]{0,2})('''|\"\"\"|'|\")")
_GAP = re.compile(r"(?:\s|\\\r?\n|#[^\n]*)*")
_OPENING, _CLOSING = "([{", ")]}"


def outermost(ctx: ModuleContext, node: ast.AST) -> ast.JoinedStr | None:
    """The outermost f-string that holds `node`, or is it; None where `ast` can be trusted."""
    if sys.version_info >= (3, 12):
        return None
    found = node if isinstance(node, ast.JoinedStr) else None
    for above in ctx.ancestors(node):
        if isinstance(above, ast.JoinedStr):
            found = above
        elif isinstance(above, ast.stmt):
            break
    return found


def spans(ctx: ModuleContext, node: ast.JoinedStr) -> Spans:
    """Character spans of an outermost f-string and of every expression node inside it.

    Raises:
        ValueError: an f-string of a form the scanner does not know; its parts have no safe position.
    """
    found: Spans = {}
    start = ctx.offset(node.lineno, node.col_offset)
    end = ctx.offset(node.end_lineno or 0, node.end_col_offset or 0)
    _place(ctx.source, node, start, end, found)
    return found


def _place(source: str, node: ast.JoinedStr, start: int, end: int, found: Spans) -> None:
    """Enter the spans of everything inside one f-string that stands at `[start, end)`."""
    found[node] = (start, end)
    values = list(_values(node))
    fields = list(_fields(source, start, end))
    if len(values) != len(fields):
        raise ValueError("f-string of an unknown form")
    for value, (at, to) in zip(values, fields):
        _expression(source, value, at, to, found)


def _values(node: ast.JoinedStr) -> Iterator[ast.expr]:
    """Expressions of the replacement fields in the order in which they are written."""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            yield part.value
            if isinstance(part.format_spec, ast.JoinedStr):
                yield from _values(part.format_spec)


def _expression(source: str, node: ast.expr, start: int, end: int, found: Spans) -> None:
    """Parse `source[start:end]` alone and give its positions to the nodes of `node`."""
    text = source[start:end]
    twin = ast.parse(f"({text})", mode="eval").body
    lines = f"({text})".split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        characters = len(lines[line - 1].encode("utf-8")[:column].decode("utf-8"))
        return start - 1 + starts[line - 1] + characters

    _carry(source, node, twin, offset, found)


def _carry(
    source: str, node: ast.AST, twin: ast.AST, offset: Callable[[int, int], int], found: Spans
) -> None:
    if type(node) is not type(twin):
        raise ValueError("f-string of an unknown form")
    if hasattr(twin, "lineno"):
        start = offset(twin.lineno, twin.col_offset)  # type: ignore[attr-defined]
        end = offset(twin.end_lineno, twin.end_col_offset)  # type: ignore[attr-defined]
        found[node] = (start, end)
        if isinstance(node, ast.JoinedStr):
            _place(source, node, start, end, found)
            return
    for mine, other in zip(ast.iter_child_nodes(node), ast.iter_child_nodes(twin)):
        _carry(source, mine, other, offset, found)


def _fields(source: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the expressions in the (possibly concatenated) string literals of `[start, end)`."""
    at = start
    while True:
        gap = _GAP.match(source, at, end)
        at = gap.end() if gap else at
        if at >= end:
            return
        opening = _OPEN.match(source, at, end)
        if opening is None:
            raise ValueError("f-string of an unknown form")
        close = _close(source, opening.end(), end, opening[2])
        if "f" in opening[1].lower():
            yield from _in_body(source, opening.end(), close)
        at = close + len(opening[2])


def _close(source: str, at: int, end: int, quote: str) -> int:
    while at < end:
        if source[at] == "\\":
            at += 2
        elif source.startswith(quote, at):
            return at
        else:
            at += 1
    raise ValueError("f-string of an unknown form")


def _in_body(source: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the expressions of one f-string body, or of one format specification."""
    while at < end:
        if source.startswith(("{{", "}}"), at):
            at += 2
        elif source.startswith("\\N{", at):
            at = source.index("}", at) + 1
        elif source[at] == "{":
            stop = _expression_end(source, at + 1, end)
            yield at + 1, _without_equals(source, at + 1, stop)
            if source[stop] == "!":
                stop = _next(source, stop, end)
            close = stop
            if source[stop] == ":":
                close = _spec_end(source, stop + 1, end)
                yield from _in_body(source, stop + 1, close)
            at = close + 1
        else:
            at += 1


def _expression_end(source: str, at: int, end: int) -> int:
    """Where an expression ends: at `!`, `:` or `}` outside brackets and strings."""
    depth = 0
    while at < end:
        char = source[at]
        if char in "'\"":
            quote = source[at : at + 3] if source[at : at + 3] in ("'''", '"""') else char
            at = _close(source, at + len(quote), end, quote) + len(quote)
            continue
        if depth == 0 and (char in ":}" or (char == "!" and source[at + 1] != "=")):
            return at
        depth += (char in _OPENING) - (char in _CLOSING)
        at += 1
    raise ValueError("f-string of an unknown form")


def _without_equals(source: str, start: int, end: int) -> int:
    """The end without the `=` of a self-documenting `{x = }`."""
    text = source[start:end].rstrip()
    return start + len(text) - 1 if text.endswith("=") and text[-2:-1] not in "=!<>" else end


def _next(source: str, at: int, end: int) -> int:
    while at < end and source[at] not in ":}":
        at += 1
    return at


def _spec_end(source: str, at: int, end: int) -> int:
    """The `}` that closes a field with a format specification, nested fields skipped."""
    depth = 0
    while at < end:
        if source[at] == "{":
            depth += 1
        elif source[at] == "}":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    raise ValueError("f-string of an unknown form")
