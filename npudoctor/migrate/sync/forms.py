"""The textual forms of a scalar read, and the text that keeps the tensor instead."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_NEUTRAL = ("cpu", "detach")


@dataclass(frozen=True)
class ScalarRead:
    """`E.item()`, `float(E)` or the like.

    Attributes:
        node: the call.
        value: the tensor expression, without `.detach()`, `.cpu()` and `.data`.
        form: `item`, or the builtin `float`, `int` or `bool`.
    """

    node: ast.Call
    value: ast.expr
    form: str


def scalar_read(ctx: ModuleContext, node: ast.AST) -> ScalarRead | None:
    """`node` as a scalar read, or None."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return ScalarRead(node, peel(node.func.value), "item")
    if (
        not isinstance(node.func, ast.Name)
        or node.func.id not in ("float", "int", "bool")
        or len(node.args) != 1
    ):
        return None
    if ctx.qualified_name(node.func) != f"builtins.{node.func.id}":
        return None
    if scalar_read(ctx, node.args[0]) is not None:
        return None  # float(x.item()): the inner read is the one
    return ScalarRead(node, peel(node.args[0]), node.func.id)


def scalar_reads(ctx: ModuleContext) -> dict[ast.Call, ScalarRead]:
    """Every scalar read of the module by its call, in source order; found once per round."""
    if "scalar reads" not in ctx.memo:
        every = ((call, scalar_read(ctx, call)) for call in ctx.nodes(ast.Call))
        ctx.memo["scalar reads"] = {call: read for call, read in every if read is not None}
    known: dict[ast.Call, ScalarRead] = ctx.memo["scalar reads"]
    return known


def copies_to_host(node: ast.AST) -> bool:
    """Whether `node` is `x.cpu()` or `x.to("cpu")`, nothing else given."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "to" and len(node.args) == 1:
        return isinstance(node.args[0], ast.Constant) and node.args[0].value == "cpu"
    return node.func.attr == "cpu" and not node.args


def peel(node: ast.expr) -> ast.expr:
    """`node` without trailing `.detach()`, `.cpu()` and `.data`, which do not change the number."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and not node.args
            and not node.keywords
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _NEUTRAL
        ):
            node = node.func.value
        else:
            return node


def runs_once(
    ctx: ModuleContext, node: ast.expr, between: tuple[type, ...], statements: tuple[type, ...]
) -> bool:
    """Whether `node` stands in one of `statements`, with only nodes of the types `between` around it."""
    for above in ctx.ancestors(node):
        if isinstance(above, ast.stmt):
            return isinstance(above, statements)
        if not isinstance(above, between):
            return False
    return False


def kept_tensor(ctx: ModuleContext, read: ScalarRead, clone: bool, reshape: bool) -> str | None:
    """Text for `read` that yields the detached 0-dim tensor instead; None if the text is unusual."""
    value_start, value_end = ctx.span(read.value)
    start, end = ctx.span(read.node)
    if "#" in ctx.source[start:value_start] + ctx.source[value_end:end]:
        return None  # a comment that would be lost
    text = ctx.source[value_start:value_end]
    atom = isinstance(read.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    suffix = ".detach()" + (".clone()" if clone else "") + (".reshape(())" if reshape else "")
    return (text if atom else f"({text})") + suffix


def indent_of(ctx: ModuleContext, statement: ast.stmt) -> str | None:
    """The white space before a statement that begins its line; None if something else does."""
    start, _ = ctx.span(statement)
    line_start, _ = ctx.line_span(statement.lineno)
    before = ctx.source[line_start:start]
    return before if not before.strip() else None


def indent_unit(ctx: ModuleContext, block_owner: ast.stmt) -> str:
    """One level of indentation, as the body of `block_owner` shows it."""
    outer = indent_of(ctx, block_owner) or ""
    body = getattr(block_owner, "body", None) or []
    inner = indent_of(ctx, body[0]) if body else None
    if inner is not None and inner.startswith(outer) and len(inner) > len(outer):
        return inner[len(outer) :]
    return "    "


_CELL_MARK = re.compile(r"# ?(?:<npudoctor cell|%%|In\[)")


def before_statement(ctx: ModuleContext, statement: ast.stmt) -> int:
    """Offset of the line of `statement` or its decorators, or of the comments right above it."""
    line = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    start, _ = ctx.line_span(line)
    indent = indent_of(ctx, statement)
    while line > 1 and indent is not None:
        above, end = ctx.line_span(line - 1)
        text = ctx.source[above:end]
        comment = text.startswith(indent + "#") and not _CELL_MARK.match(text.strip())
        if not comment:
            break
        start, line = above, line - 1
    return start


def after_statement(ctx: ModuleContext, statement: ast.stmt) -> tuple[int, bool]:
    """Offset of the line after `statement`, and whether a line end must be written first."""
    _, end = ctx.line_span(statement.end_lineno or statement.lineno)
    return end, not ctx.source[:end].endswith(("\n", "\r"))
