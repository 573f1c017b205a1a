"""Which bindings of a variable can reach one read of it: straight-line code only, else all of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding


def reaching(ctx: ModuleContext, name: ast.Name) -> list[Binding]:
    """Bindings that can give `name` the value it has here; every binding when that is unclear."""
    known: dict[ast.Name, list[Binding]] = ctx.memo.setdefault("reaching", {})
    if name not in known:
        known[name] = _reaching(ctx, name)
    return known[name]


def _reaching(ctx: ModuleContext, name: ast.Name) -> list[Binding]:
    scope = ctx.scope(name).find(name.id)
    if scope is None:
        return []
    everything = scope.bindings[name.id]
    if scope is not ctx.scope(name) or any(ctx.scope(b.node) is not scope for b in everything):
        return everything  # a closure, or a nested function that rebinds
    found: list[Binding] = []
    child = ctx.statement(name)
    while True:
        parent, block = ctx.names.parents[child], ctx.block(child)
        before = [b for b in everything if ctx.inside(b.node, parent)]
        for statement in reversed(block[: block.index(child)]) if before else ():
            here = [b for b in before if ctx.inside(b.node, statement)]
            found += here
            if any(b.node is statement and b.kind == "assign" for b in here):
                return found
        if not isinstance(parent, (ast.If, ast.With)) or _inside_header(ctx, before, parent):
            return everything  # the start of a loop, function or try: anything may come in
        child = parent


def _inside_header(ctx: ModuleContext, bindings: list[Binding], owner: ast.If | ast.With) -> bool:
    """Whether the test or the context managers of `owner` bind the name, one of `bindings` inside it."""
    blocks = [*owner.body, *getattr(owner, "orelse", [])]
    return any(not any(ctx.inside(b.node, s) for s in blocks) for b in bindings)
