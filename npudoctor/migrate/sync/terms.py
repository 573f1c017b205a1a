"""A scalar read inside host arithmetic: `loss.item() * x.size(0) / 2`, and how it is done later.

The host numbers beside the read are kept as they are at that moment; the arithmetic is
repeated with the same operands in the same order, so it gives the same Python number.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.loops import LOOPS

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.sync.values import Values

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


@dataclass(frozen=True)
class Term:
    """What is added in one pass.

    Attributes:
        whole: the expression.
        read: the scalar read in it, `whole` itself for a plain sum.
        kept: host numbers in it that may differ from pass to pass, in source order.
    """

    whole: ast.expr
    read: ast.expr
    kept: tuple[ast.expr, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether nothing is calculated on the host."""
        return self.whole is self.read


def term_of(ctx: ModuleContext, read: ast.expr) -> ast.expr:
    """The whole arithmetic expression around `read`."""
    node = read
    while True:
        above = ctx.parent(node)
        binary = isinstance(above, ast.BinOp) and isinstance(above.op, _OPERATORS)
        signed = isinstance(above, ast.UnaryOp) and isinstance(above.op, (ast.USub, ast.UAdd))
        if not (binary or signed) or not isinstance(above, ast.expr):
            return node
        node = above


def analysed(
    ctx: ModuleContext, values: Values, whole: ast.expr, read: ast.expr, loop: ast.AST
) -> Term | None:
    """The term, or None if something beside the read is not proved to be a host number."""
    kept: list[ast.expr] = []
    stack = [whole]
    while stack:
        node = stack.pop()
        if node is read:
            continue
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, float):
                return None
        elif ctx.inside(read, node):
            sides = (node.operand,) if isinstance(node, ast.UnaryOp) else (node.left, node.right)  # type: ignore[attr-defined]
            stack += sides
        elif not is_number(ctx, values, node):
            return None
        elif not _fixed(ctx, node, loop):
            kept.append(node)
    return Term(whole, read, tuple(sorted(kept, key=ctx.span)))


def is_number(ctx: ModuleContext, values: Values, node: ast.expr) -> bool:
    """Whether `node` provably is a Python number that lives on the host and never changes."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _OPERATORS) and all(
            is_number(ctx, values, side) for side in (node.left, node.right)
        )
    if isinstance(node, ast.UnaryOp):
        return is_number(ctx, values, node.operand)
    if isinstance(node, ast.Subscript):  # x.shape[0]
        shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return shape and isinstance(node.slice, (ast.Constant, ast.UnaryOp))
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and ctx.qualified_name(func) is None:
            return func.attr in ("size", "numel", "dim") and len(node.args) == (func.attr == "size")
        return ctx.called_name(node) == "builtins.len"
    if isinstance(node, ast.Name) and _counts(ctx, node):
        return True
    return values.of(node).number or (isinstance(node, ast.Name) and ctx.kind(node) is Kind.NUMBER)


def _counts(ctx: ModuleContext, name: ast.Name) -> bool:
    """Whether `name` is an index that `range` or `enumerate` hands out."""
    bound = ctx.bindings(name)
    for binding in bound:
        loop = binding.node if isinstance(binding.node, LOOPS) else None
        if binding.kind != "loop" or not isinstance(loop, ast.For):
            return False
        called = ctx.called_name(loop.iter)
        target: ast.expr = loop.target
        if called == "builtins.enumerate" and isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
        elif called != "builtins.range":
            return False
        if not (isinstance(target, ast.Name) and target.id == name.id):
            return False
    return bool(bound)


def _fixed(ctx: ModuleContext, node: ast.expr, loop: ast.AST) -> bool:
    """Whether `node` is made of literals and variables that keep their numbers while `loop` runs."""
    if isinstance(node, ast.BinOp):
        return _fixed(ctx, node.left, loop) and _fixed(ctx, node.right, loop)
    if isinstance(node, ast.UnaryOp):
        return _fixed(ctx, node.operand, loop)
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Name):
        return False
    scope = ctx.scope(node)
    if scope.find(node.id) is not scope or node.id in scope.outer:
        return False
    bound = ctx.bindings(node)  # also by `nonlocal` or `global` in a function that the loop may call
    own = (b.kind == "param" or ctx.scope(b.node) is scope for b in bound)
    return all(own) and all(not ctx.inside(b.node, loop) for b in bound)
