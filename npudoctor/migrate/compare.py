"""Comparisons with a device string: is the other side a torch device, and who feeds it?"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.calls import string_of
from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.literals import Literal
from npudoctor.migrate.positions import match_of, name_of_target, outermost
from npudoctor.migrate.vocabulary import DEVICE

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_MAX_DEPTH = 6


def other_side(ctx: ModuleContext, literal: Literal) -> ast.expr | None:
    """What a literal in a comparison, a membership test or `startswith` is held against."""
    return other_side_of(ctx, literal.node)


def other_side_of(ctx: ModuleContext, node: ast.expr) -> ast.expr | None:
    """The same for any string expression."""
    expr, above = outermost(ctx, node)
    if isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        above = ctx.parent(above)
        if isinstance(above, ast.Compare):
            return above.left
    matched = match_of(ctx, above)
    if matched is not None:
        subject: ast.expr = matched.subject  # type: ignore[attr-defined]
        return subject
    if isinstance(above, ast.Compare):
        return above.comparators[0] if expr is above.left else above.left
    if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute):
        return above.func.value
    return None


def lists_both(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` stands in `("cuda", "npu")`, `case "cuda" | "npu"` or a dict with such keys."""
    holder = ctx.parent(node)
    if type(holder).__name__ == "MatchValue" and holder is not None:
        alternatives = getattr(ctx.parent(holder), "patterns", ())
        parts = [getattr(pattern, "value", None) for pattern in alternatives]
    else:
        parts = holder.keys if isinstance(holder, ast.Dict) else getattr(holder, "elts", [])
    return {"cuda", "npu"} <= {(string_of(part) or "").split(":")[0] for part in parts}


def is_device(ctx: ModuleContext, node: ast.expr, depth: int = 0) -> bool:
    """Whether `node` provably is a torch device, its type or its text, whatever the settings."""
    if depth > _MAX_DEPTH:
        return False
    node = _strip(ctx, node)
    if ctx.kind(node) is Kind.DEVICE:
        return True
    if isinstance(node, ast.Attribute):
        if node.attr == "type":
            base = _strip(ctx, node.value)
            return (
                DEVICE.ends_as(name_of_target(base))
                or ctx.kind(base) is Kind.DEVICE
                or _is_device_attribute(base)
            )
        return _is_device_attribute(node) and not _is_configuration(node)
    if isinstance(node, ast.Name):
        values = [b.value for b in ctx.bindings(node)]
        return bool(values) and all(v is not None and is_device(ctx, v, depth + 1) for v in values)
    return False


def _is_device_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "device"


def _is_configuration(node: ast.expr) -> bool:
    """`cfg.device`, `args.device`, `self.device`: may be a plain string that somebody else sets."""
    assert isinstance(node, ast.Attribute)
    return isinstance(node.value, (ast.Name, ast.Attribute))


def _strip(ctx: ModuleContext, node: ast.expr) -> ast.expr:
    """Without `str(...)`, `.lower()`, `.split(":")[0]` and other views of the same text."""
    while True:
        if isinstance(node, ast.Call) and ctx.called_name(node) == "builtins.str" and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node, ast.Call) and _method(node) in ("lower", "strip", "__str__"):
            assert isinstance(node.func, ast.Attribute)
            node = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            if _method(node.value) not in ("split", "partition"):
                return node
            assert isinstance(node.value.func, ast.Attribute)
            node = node.value.func.value
        else:
            return node


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def carrier(ctx: ModuleContext, node: ast.expr, depth: int = 0) -> str | None:
    """The device-like name that carries the compared value (`device` of `cfg.device`), if any."""
    node = _strip(ctx, node)
    if isinstance(node, ast.Call) and _method(node) in ("get", "pop") and node.args:
        key = node.args[0]
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        return name if DEVICE.fits(name) else None
    name = name_of_target(node)
    if DEVICE.fits(name):
        return name
    if isinstance(node, ast.Name) and depth < _MAX_DEPTH:
        values = [b.value for b in ctx.bindings(node) if b.value is not None]
        if len(values) == 1:
            return carrier(ctx, values[0], depth + 1)
    return None


def is_fed(ctx: ModuleContext, name: str) -> bool:
    """Whether a "cuda" that this run moves is stored under `name` anywhere in the project."""
    from npudoctor.migrate.facts.devices import summarise

    facts = dict(ctx.project.facts("devices"))
    facts[ctx.path] = ctx.original.memo.setdefault("device facts", None) or summarise(ctx.original)
    ctx.original.memo["device facts"] = facts[ctx.path]
    return any("cuda" in fact.produces.get(name.lower(), ()) for fact in facts.values())
