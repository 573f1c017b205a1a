"""Fact `sync_calls`: which names are called from hot loops, and which functions call what.

With it a read inside `act()` in one file is seen to run once per environment step of
another file's loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.loops import COMMON, Heat, callee_name, function_name, hotter, loops_of, throttled
from npudoctor.migrate.project import Fact
from npudoctor.migrate.sync.lookalikes import own_lookalikes

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.project import ProjectIndex


@dataclass(frozen=True)
class SyncCalls:
    """Calls of one module.

    Attributes:
        hot: name called -> value of the hottest `Heat` of its call sites.
        calls: function defined here -> names called in it outside any loop.
        lookalikes: those of `log_prob` and `backward` that a class without tensors defines here.
    """

    hot: dict[str, str]
    calls: dict[str, tuple[str, ...]]
    lookalikes: tuple[str, ...] = ()


def summarise(ctx: ModuleContext) -> SyncCalls | None:
    """The calls of one module; None when it defines nothing and calls nothing in a loop."""
    import ast

    loops = loops_of(ctx)
    hot = {n: h.value for n, h in loops.call_sites().items() if n not in COMMON}
    calls: dict[str, set[str]] = {}
    for call in ctx.nodes(ast.Call):
        name, function = callee_name(call), ctx.enclosing_function(call)
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if name and name not in COMMON and not throttled(ctx, call):
            calls.setdefault(function_name(ctx, function), set()).add(name)
    alike = tuple(sorted(own_lookalikes(ctx, ("log_prob", "backward"))))
    if not (hot or calls or alike):
        return None
    return SyncCalls(hot, {n: tuple(sorted(c)) for n, c in calls.items()}, alike)


def heat_by_name(project: ProjectIndex) -> dict[str, Heat]:
    """Function name -> heat of its hottest call site anywhere in the project, calls followed."""
    known: dict[str, Heat] | None = project.__dict__.get("_heat_by_name")
    if known is not None:
        return known
    summaries = list(project.facts(FACT.name).values())
    heat: dict[str, Heat] = {}
    calls: dict[str, set[str]] = {}
    for summary in summaries:
        for name, value in summary.hot.items():
            heat[name] = hotter(heat.get(name, Heat.ONCE), Heat(value))
        for name, callees in summary.calls.items():
            calls.setdefault(name, set()).update(callees)
    waiting = list(heat)
    while waiting:
        name = waiting.pop()
        for callee in calls.get(name, ()):
            if heat[name].rank < heat.get(callee, Heat.ONCE).rank:
                heat[callee] = heat[name]
                waiting.append(callee)
    project.__dict__["_heat_by_name"] = heat  # derived, not part of its value
    return heat


FACT = Fact("sync_calls", ("log_prob(", "step(", "backward(", "nn.Module", "istribution"), summarise)
