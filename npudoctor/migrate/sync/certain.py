"""Whether what `float(x)` reads is a tensor in every pass: unlike `.item()`, `float` takes numbers too.

`Values` leaves numbers among the bindings of a variable out, since `.item()` on one would raise.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.sync.reaching import reaching

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding
    from npudoctor.migrate.sync.forms import ScalarRead
    from npudoctor.migrate.sync.values import Values

_MAX_DEPTH = 12


def is_never_a_number(ctx: ModuleContext, values: Values, read: ScalarRead) -> bool:
    """Whether the tensor read at `read`, already proved to be one where it is no number, never is one."""
    if read.form == "item" or read.node.args[0] is not read.value:
        return True  # `.detach()`, `.cpu()` and `.data` raise on a number as well
    return _never(ctx, values, read.value, _MAX_DEPTH)


def _never(ctx: ModuleContext, values: Values, node: ast.expr, depth: int) -> bool:
    if depth == 0:
        return False
    depth -= 1
    if isinstance(node, ast.Name):
        return _variable(ctx, values, node, depth)
    if isinstance(node, ast.BinOp):  # one tensor makes the result a tensor
        sides = [side for side in (node.left, node.right) if values.of(side).tensor]
        return any(_never(ctx, values, side, depth) for side in sides)
    if isinstance(node, ast.UnaryOp):
        return _never(ctx, values, node.operand, depth)
    if isinstance(node, ast.Compare):
        sides = [side for side in (node.left, *node.comparators) if values.of(side).tensor]
        return any(_never(ctx, values, side, depth) for side in sides)
    if isinstance(node, ast.IfExp):
        return all(_never(ctx, values, side, depth) for side in (node.body, node.orelse))
    if isinstance(node, ast.NamedExpr):
        return _never(ctx, values, node.value, depth)
    if isinstance(node, ast.Call):
        return ctx.called_name(node) != "builtins.sum"  # of nothing it is 0
    return isinstance(node, (ast.Attribute, ast.Subscript))


def _variable(ctx: ModuleContext, values: Values, name: ast.Name, depth: int) -> bool:
    bound = [b for b in reaching(ctx, name) if b.kind not in ("augmented", "annotation", "delete")]
    if not bound:
        return False
    if all(_bound(ctx, values, b, depth) for b in bound):
        return True
    return len(bound) == 1 and bound[0].kind == "assign" and _is_differentiated(ctx, name)


def _bound(ctx: ModuleContext, values: Values, binding: Binding, depth: int) -> bool:
    value = binding.value
    if binding.kind not in ("assign", "walrus") or value is None or not values.of(value).tensor:
        return False
    return _never(ctx, values, value, depth)


def _is_differentiated(ctx: ModuleContext, name: ast.Name) -> bool:
    """Whether `name.backward()` runs whenever `name` is read here: no `if` stands around it alone."""
    scope = ctx.scope(name).find(name.id)
    around = set(ctx.ancestors(name))
    for use in ctx.uses(name.id, scope) if scope is not None else ():
        above = ctx.parent(use)
        backward = isinstance(above, ast.Attribute) and above.attr == "backward"
        scaled = isinstance(above, ast.Call) and ctx.text(above.func).endswith(".scale")
        if (backward or scaled) and ctx.parent(ctx.statement(use)) in around:
            return True
    return False
