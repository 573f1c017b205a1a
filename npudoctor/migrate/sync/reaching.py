"""Which bindings of a variable can reach one read of it: straight-line code only, else all of them."""

from __future__ import annotations

import ast
import bisect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding, Scope


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
    if scope is not ctx.scope(name) or not _all_in(ctx, scope, name.id):
        return everything  # a closure, or a nested function that rebinds
    found: list[Binding] = []
    child = ctx.statement(name)
    while True:
        parent, (block, position) = ctx.names.parents[child], _place(ctx, child)
        before = _inside(ctx, scope, name.id, parent)
        for i in range(position - 1, -1, -1) if before else ():
            here = _inside(ctx, scope, name.id, block[i])
            found += here
            if any(b.node is block[i] and b.kind == "assign" for b in here):
                return found
        if not isinstance(parent, (ast.If, ast.With)) or _inside_header(ctx, before, parent):
            return everything  # the start of a loop, function or try: anything may come in
        child = parent


# A generated file may bind one name ten thousand times: no look at all bindings for each read.


def _all_in(ctx: ModuleContext, scope: Scope, name: str) -> bool:
    """Whether every binding of the variable stands in its own scope."""
    known: dict[tuple[Scope, str], bool] = ctx.memo.setdefault("bound in own scope", {})
    if (scope, name) not in known:
        known[scope, name] = all(ctx.scope(b.node) is scope for b in scope.bindings[name])
    return known[scope, name]


def _inside(ctx: ModuleContext, scope: Scope, name: str, owner: ast.AST) -> list[Binding]:
    """The variable's bindings that are `owner` or a part of it, in source order."""
    known: dict[tuple[Scope, str], tuple[list[int], list[Binding]]] = ctx.memo.setdefault("bindings", {})
    order = ctx.names.order
    if (scope, name) not in known:
        bindings = sorted(scope.bindings[name], key=lambda b: order.span(b.node)[0])
        known[scope, name] = [order.span(b.node)[0] for b in bindings], bindings
    numbers, bindings = known[scope, name]
    first, last = order.span(owner)
    start = bisect.bisect_left(numbers, first)
    return bindings[start : bisect.bisect_right(numbers, last, start)]


def _place(ctx: ModuleContext, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
    """The block of a statement, and where in it the statement stands."""
    known: dict[ast.stmt, tuple[list[ast.stmt], int]] = ctx.memo.setdefault("places", {})
    if statement not in known:
        block = ctx.block(statement)
        known.update((s, (block, i)) for i, s in enumerate(block))
    return known[statement]


def _inside_header(ctx: ModuleContext, bindings: list[Binding], owner: ast.If | ast.With) -> bool:
    """Whether the test or the context managers of `owner` bind the name, one of `bindings` inside it."""
    blocks = [*owner.body, *getattr(owner, "orelse", [])]
    return any(not any(ctx.inside(b.node, s) for s in blocks) for b in bindings)
