"""Whether a tensor was made on the host: one list of host and device scalars cannot be stacked."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.sync.ops import ops
from npudoctor.migrate.sync.reaching import reaching

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_FROM_HOST = frozenset(
    {"torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor"}
)
_MAX_DEPTH = 12


def origins(ctx: ModuleContext, node: ast.expr, depth: int = 0) -> set[bool]:
    """The ways in which `node` can come about: True for "made on the host", False for anything else.

    `kl = torch.tensor(0.0)`, replaced by a device value only in some passes, gives both.
    """
    if depth > _MAX_DEPTH:
        return {False}
    depth += 1
    if isinstance(node, ast.Constant):
        return {True}  # joins either
    if isinstance(node, ast.Name):
        found: set[bool] = set()
        for binding in reaching(ctx, node):
            if binding.kind in ("assign", "walrus") and binding.value is not None:
                if not isinstance(binding.value, ast.Constant):
                    found |= origins(ctx, binding.value, depth)
            elif binding.kind not in ("augmented", "annotation", "delete"):
                found.add(False)
        return found or {False}
    if isinstance(node, ast.IfExp):
        sides = [side for side in (node.body, node.orelse) if not isinstance(side, ast.Constant)]
        return set().union(*(origins(ctx, side, depth) for side in sides)) or {True}
    if isinstance(node, ast.BinOp):
        pairs = origins(ctx, node.left, depth), origins(ctx, node.right, depth)
        return {a and b for a in pairs[0] for b in pairs[1]}  # one device operand is enough
    if isinstance(node, ast.UnaryOp):
        return origins(ctx, node.operand, depth)
    if isinstance(node, ast.Call):
        return _call(ctx, node, depth)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return origins(ctx, node.value, depth)
    return {False}


def _call(ctx: ModuleContext, node: ast.Call, depth: int) -> set[bool]:
    path = ctx.qualified_name(node.func) or ""
    head, _, name = path.rpartition(".")
    if path in _FROM_HOST or (head == "torch" and name in ops("torch")):
        known = ops("torch").get(name)
        if path in _FROM_HOST or (known is not None and known.storage == "factory"):
            return {not any(k.arg == "device" for k in node.keywords)}
        return origins(ctx, node.args[0], depth) if node.args else {False}
    func = node.func
    if path or not isinstance(func, ast.Attribute):
        return {False}
    if func.attr in ("to", "cuda", "npu"):
        moved = [ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))]
        return {True} if "'cpu'" in moved else {False}
    if func.attr == "cpu":
        return {True}
    return origins(ctx, func.value, depth) if func.attr in ops("method") else {False}
