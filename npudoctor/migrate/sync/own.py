"""The forms that the rewrites of this package leave behind: what was just written is not reported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.loops import LOOPS
from npudoctor.migrate.sync import hosthelper

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


def is_ours(ctx: ModuleContext, node: ast.expr) -> bool:
    """Whether `node` is the one wait that is left where a rewrite took many away."""
    if hosthelper.is_helper(ctx, node):
        return True
    statement = ctx.statement(node)
    if isinstance(statement, ast.If):
        return _finite_check(ctx, statement, node)
    above = ctx.parent(node)
    if isinstance(above, ast.IfExp):
        return _drained(ctx, above, node)
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if isinstance(target, ast.Tuple):
        return _row(ctx, target, node)
    return isinstance(target, ast.Name) and (
        _index(ctx, target, node) or _host_buffer(ctx, statement, target, node)
    )


def _stacked(ctx: ModuleContext, node: ast.expr) -> ast.expr | None:
    """`xs` of `torch.stack(xs).tolist()`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    stack = node.func.value
    if node.func.attr != "tolist" or not isinstance(stack, ast.Call) or len(stack.args) != 1:
        return None
    return stack.args[0] if ctx.called_name(stack) == "torch.stack" else None


def _drained(ctx: ModuleContext, choice: ast.IfExp, node: ast.expr) -> bool:
    """`torch.stack(xs).tolist() if xs else []` (NPU201, NPU202)."""
    parts = _stacked(ctx, node)
    return (
        choice.body is node
        and isinstance(parts, (ast.Name, ast.Subscript))
        and ast.dump(choice.test) == ast.dump(parts)
        and isinstance(choice.orelse, ast.List)
        and not choice.orelse.elts
    )


def is_drained(ctx: ModuleContext, target: ast.expr) -> bool:
    """Whether what `target` collects is only stacked and read after the loop (NPU201, NPU202)."""
    text = ctx.text(target)
    return f"stack({text}).tolist() if {text} else []" in ctx.source


def _row(ctx: ModuleContext, target: ast.Tuple, node: ast.expr) -> bool:
    """`a_value, b_value = torch.stack((a, b)).tolist()` (NPU204)."""
    parts = _stacked(ctx, node)
    return isinstance(parts, ast.Tuple) and len(parts.elts) == len(target.elts)


def _index(ctx: ModuleContext, target: ast.Name, node: ast.expr) -> bool:
    """`mb = torch.as_tensor(inds[a:b], device=device)`, an index of two tensors or more (NPU203)."""
    if ctx.called_name(node) != "torch.as_tensor":
        return False
    uses = ctx.uses(target.id, ctx.scope(target))
    above = [(ctx.parent(use), use) for use in uses]
    return len(uses) > 1 and all(isinstance(a, ast.Subscript) and a.slice is use for a, use in above)


def _host_buffer(ctx: ModuleContext, made: ast.Assign, target: ast.Name, node: ast.expr) -> bool:
    """`buffer_host = buffer.cpu()` before a loop and `buffer.copy_(buffer_host)` after it (NPU206)."""
    func = node.func if isinstance(node, ast.Call) and not node.args else None
    if not (isinstance(func, ast.Attribute) and func.attr == "cpu" and isinstance(func.value, ast.Name)):
        return False
    after = f"{func.value.id}.copy_({target.id})"
    block = ctx.block(made)
    return any(isinstance(s, ast.Expr) and ast.unparse(s) == after for s in block[block.index(made) :])


def _finite_check(ctx: ModuleContext, check: ast.If, node: ast.expr) -> bool:
    """`if not torch.isfinite(loss).all(): raise ...` right after a loop (NPU207)."""
    if check.orelse or len(check.body) != 1 or not isinstance(check.body[0], ast.Raise):
        return False
    block = ctx.block(check)
    place = block.index(check)
    follows = place > 0 and isinstance(block[place - 1], LOOPS)
    return follows and "isfinite(" in ast.unparse(node)
