"""Whether a value read later is still the value of now: who else could write to its memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.sync.ops import function_op, ops
from npudoctor.migrate.sync.own import is_drained
from npudoctor.migrate.sync.reaching import reaching

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding
    from npudoctor.migrate.sync.values import Values

# They read their argument, or scale it into a new tensor; they never write to it.
_READING_BUILTINS = frozenset(
    ["print", "float", "int", "bool", "len", "isinstance", "str", "repr", "format", "type", "id"]
)
_READING_METHODS = frozenset(
    ["backward", "item", "tolist", "dim", "size", "numel", "scale", "manual_backward"]
)
_READING_ATTRIBUTES = frozenset(["shape", "dtype", "device", "requires_grad", "grad_fn", "ndim", "is_leaf"])


def needs_clone(ctx: ModuleContext, values: Values, node: ast.expr) -> bool:
    """Whether a detached `node` must be copied to keep the number it has now."""
    if values.of(node).new:
        return False
    if not isinstance(node, ast.Name):
        return True
    scope = ctx.scope(node).find(node.id)
    if scope is None or isinstance(scope.node, ast.ClassDef):
        return True
    bindings = [b for b in reaching(ctx, node) if b.kind != "annotation"]
    if not all(_fresh(values, b) for b in bindings):
        return True
    if any(b.kind == "augmented" for b in scope.bindings[node.id]):
        return True  # `x += y` writes in place, before or after the read
    return not all(ctx.scope(u) is scope and _only_read(ctx, u) for u in ctx.uses(node.id, scope))


def _fresh(values: Values, binding: Binding) -> bool:
    if binding.kind != "assign" or binding.value is None:
        return False  # `with ... as x` may be anything
    whole = isinstance(binding.node, ast.Assign) and binding.node.value is binding.value
    if whole and len(binding.node.targets) > 1:  # type: ignore[attr-defined]
        return False  # x = self.last = a + b
    value = values.of(binding.value)
    return value.new or value.number


def _only_read(ctx: ModuleContext, node: ast.expr) -> bool:
    """Whether this occurrence of a tensor can neither change nor keep it."""
    above = ctx.parent(node)
    if isinstance(above, (ast.BinOp, ast.Compare, ast.FormattedValue, ast.Expr)):
        return True
    if isinstance(above, ast.UnaryOp):
        return not isinstance(above.op, ast.UAdd)
    if isinstance(above, ast.Attribute):
        return _attribute_reads(ctx, above)
    if isinstance(above, ast.AugAssign):
        return above.value is node and isinstance(above.target, ast.Name)
    if isinstance(above, ast.Call):
        return _call_reads(ctx, above, node)
    return isinstance(above, (ast.If, ast.While, ast.Assert))


def _attribute_reads(ctx: ModuleContext, attribute: ast.Attribute) -> bool:
    if not isinstance(attribute.ctx, ast.Load):
        return False
    call = ctx.parent(attribute)
    if not (isinstance(call, ast.Call) and call.func is attribute):
        return attribute.attr in _READING_ATTRIBUTES
    if any(k.arg in (None, "out") for k in call.keywords):
        return False
    if attribute.attr in _READING_METHODS:
        return True
    op = ops("method").get(attribute.attr)
    if op is None:
        return False
    return op.storage == "new" or _only_read(ctx, call)


def _call_reads(ctx: ModuleContext, call: ast.Call, node: ast.expr) -> bool:
    if call.func is node or any(k.arg in (None, "out") for k in call.keywords):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
        return is_drained(ctx, call.func.value)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("scale", "backward", "manual_backward"):
        return True
    path = ctx.qualified_name(call.func) or ""
    head, _, name = path.rpartition(".")
    if head == "builtins":
        return name in _READING_BUILTINS
    op = function_op(path)
    return op is not None and op.storage == "new"
