"""CUDA device strings in a module: where the word `cuda` stands inside a string literal.

A device string is `cuda`, `cuda:<n>`, or a piece that becomes one: the first part of an
f-string, of `"cuda:{}".format(i)`, `"cuda:%d" % i` or `"cuda:" + str(i)`. Text for people
(messages, paths, help) never has this form.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_WHOLE = re.compile(r"(?P<word>cuda|npu)(?::(?:\d+|%[ds]|\{[^{}]*\})?)?\Z")
_PIECE = re.compile(r"(?P<word>cuda|npu)(?::\d*)?\Z")
_OPENING = re.compile(r"(?:[rRuUbBfF]{0,2})('''|\"\"\"|'|\")")


@dataclass(frozen=True)
class Literal:
    """One device word inside a string literal.

    Attributes:
        node: the whole string expression: a constant or an f-string.
        word: `cuda` or `npu`.
        start, end: span of the word in the source.
        exact: the literal is the bare word (`"cuda"`), not `"cuda:0"` or a piece.
        fstring: the word is a literal part of an f-string.
    """

    node: ast.expr
    word: str
    start: int
    end: int
    exact: bool
    fstring: bool = False


def find(ctx: ModuleContext) -> list[Literal]:
    """Every device literal of the module, in source order; docstrings are not expressions of use."""
    found: list[Literal] = []
    for node in ctx.nodes(ast.Constant):
        if not isinstance(node.value, str):
            continue
        above = ctx.parent(node)
        if isinstance(above, ast.JoinedStr):
            found.extend(_in_fstring(ctx, node, above))
        elif _WHOLE.match(node.value) and not isinstance(above, ast.Expr):
            found.extend(_plain(ctx, node))
    return sorted(found, key=lambda literal: literal.start)


def _plain(ctx: ModuleContext, node: ast.Constant) -> Iterator[Literal]:
    start, _ = ctx.span(node)
    opening = _OPENING.match(ctx.source, start)
    if opening is None or "b" in opening.group(0).lower():
        return
    word = str(node.value).split(":")[0]
    if ctx.source.startswith(word, opening.end()):
        yield Literal(node, word, opening.end(), opening.end() + len(word), node.value == word)


def _in_fstring(ctx: ModuleContext, node: ast.Constant, above: ast.JoinedStr) -> Iterator[Literal]:
    value = str(node.value)
    if above.values[0] is not node or not _PIECE.match(value):
        return
    if isinstance(ctx.parent(above), (ast.FormattedValue, ast.JoinedStr)):
        return  # a format specification
    start, _ = ctx.span(above)
    opening = _OPENING.match(ctx.source, start)
    word = value.split(":")[0]
    if opening is not None and ctx.source.startswith(word, opening.end()):
        yield Literal(above, word, opening.end(), opening.end() + len(word), False, True)
