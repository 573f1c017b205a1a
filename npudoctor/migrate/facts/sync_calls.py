"""Fact `sync_calls`: which names are called from hot loops, and which functions call what.

With it a read inside `act()` in one file is seen to run once per environment step of
another file's loop.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.callgraph import called
from npudoctor.migrate.loops import COMMON, function_name, loops_of, throttled
from npudoctor.migrate.project import Fact
from npudoctor.migrate.sync.lookalikes import own_lookalikes

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


@dataclass(frozen=True)
class SyncCalls:
    """Calls of one module.

    Attributes:
        hot: what is called, as `callgraph.called` says it -> value of the hottest `Heat` of its call sites.
        calls: function defined here -> what is called in it outside any loop, in the same form.
        lookalikes: those of `log_prob` and `backward` that a class without tensors defines here.
        functions: names of the functions of the module itself, methods not among them.
    """

    hot: dict[str, str]
    calls: dict[str, tuple[str, ...]]
    lookalikes: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()


def summarise(ctx: ModuleContext) -> SyncCalls | None:
    """The calls of one module; None when it defines nothing and calls nothing in a loop."""
    loops = loops_of(ctx)
    hot = {n: h.value for n, h in loops.call_sites(called).items() if n not in COMMON}
    calls: dict[str, set[str]] = {}
    for call in ctx.nodes(ast.Call):
        function = ctx.enclosing_function(call)
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or throttled(ctx, call):
            continue
        name = called(ctx, call)
        if name and name not in COMMON:
            calls.setdefault(function_name(ctx, function), set()).add(name)
    alike = tuple(sorted(own_lookalikes(ctx, ("log_prob", "backward"))))
    if not (hot or calls or alike):
        return None
    own = frozenset(n.name for n in ctx.tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return SyncCalls(hot, {n: tuple(sorted(c)) for n, c in calls.items()}, alike, own)


FACT = Fact("sync_calls", ("log_prob(", "step(", "backward(", "nn.Module", "istribution"), summarise)
