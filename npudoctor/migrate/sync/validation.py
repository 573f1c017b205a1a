"""Argument validation of torch.distributions: where it waits, and where one check per update can stand."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor import tables
from npudoctor.migrate.loops import LOOPS, LoopNode, Loops
from npudoctor.migrate.names import FUNCTIONS
from npudoctor.migrate.sync.forms import scalar_read
from npudoctor.migrate.sync.lossname import Loss, can_name, loss_of

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_COLLECTS = re.compile(r"\.(rollout|collect|collect_rollouts|sample_trajectories)\(")
_PREFIX = "torch.distributions."
_EXCEPTION = re.compile(r"\w+")
_STOPS = frozenset({"KeyboardInterrupt", "SystemExit"})
_TESTS = re.compile(r"(^|/)(tests?/|test_[^/]*$|conftest\.py$)")


def is_test_path(path: str) -> bool:
    """Whether a module is a test by its path."""
    return _TESTS.search(path) is not None


@dataclass(frozen=True)
class Checks:
    """Scalar reads of one distribution class on torch 2.13, and where `validate_args` stands."""

    construct: int
    log_prob: int
    position: int


@functools.cache
def checks() -> dict[str, Checks]:
    """Class name -> its checks, from `data/distribution_checks.tsv`."""
    rows = tables.load("distribution_checks").rows
    return {r["name"]: Checks(int(r["construct"]), int(r["log_prob"]), int(r["position"])) for r in rows}


@dataclass(frozen=True)
class Construction:
    """A distribution built with validation on."""

    call: ast.Call
    name: str
    checks: Checks
    guarded: bool  # inside `try`, or with arguments that cannot be seen


@dataclass(frozen=True)
class Place:
    """After `loop`, the losses of the last minibatch can be checked once per update."""

    loop: LoopNode
    losses: tuple[Loss, ...]


def constructions(ctx: ModuleContext) -> list[Construction]:
    """Every construction that validates, in source order; none if the module turns it off."""
    if "set_default_validate_args(" in ctx.source:
        return []
    found = []
    for call in ctx.nodes(ast.Call):
        name = _class_name(ctx, call.func)
        known = checks().get(name) if name else None
        if name is None or known is None:
            continue
        if any(k.arg == "validate_args" for k in call.keywords) or len(call.args) > known.position:
            continue
        unseen = any(k.arg is None for k in call.keywords) or any(
            isinstance(a, ast.Starred) for a in call.args
        )
        found.append(Construction(call, name, known, unseen or _in_try(ctx, call)))
    return sorted(found, key=lambda c: ctx.span(c.call))


def _class_name(ctx: ModuleContext, func: ast.expr) -> str | None:
    path = ctx.qualified_name(func) or ""
    if path.startswith(_PREFIX):
        return path.rsplit(".", 1)[-1]
    if not isinstance(func, ast.Name):
        return None
    bindings = ctx.bindings(func)
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.ClassDef):
        return None
    owner = bindings[0].node
    if any(isinstance(s, ast.FunctionDef) and s.name in ("__init__", "__new__") for s in owner.body):
        return None  # its constructor may not take validate_args
    bases = [ctx.qualified_name(b) or "" for b in owner.bases]
    if len(bases) == 1 and bases[0].startswith(_PREFIX):
        return bases[0].rsplit(".", 1)[-1]
    return None


def _in_try(ctx: ModuleContext, node: ast.AST) -> bool:
    return any(type(a).__name__ in ("Try", "TryStar") for a in ctx.ancestors(node))


def places(ctx: ModuleContext, loops: Loops) -> list[Place]:
    """One place per update: after the outermost loop over minibatches that steps no environment."""
    found: dict[LoopNode, list[Loss]] = {}
    for call in ctx.nodes(ast.Call):
        loss = loss_of(ctx, call)
        outer = _update_loop(ctx, loops, call) if loss is not None else None
        if loss is None or outer is None or not _always_runs(ctx, outer, call) or _caught(ctx, outer):
            continue
        named = loss.name is not None and _only_tensors(ctx, outer, loss.name)
        if named or (loss.name is None and can_name(ctx, loss)):
            found.setdefault(outer, []).append(loss)
    return [
        Place(loop, _one_per_name(losses)) for loop, losses in found.items() if not checked_after(ctx, loop)
    ]


def _one_per_name(losses: list[Loss]) -> tuple[Loss, ...]:
    """The last loss of each name; of those without a name the last, which the others lead to."""
    kept = {loss.name: loss for loss in losses}
    return tuple(kept.values())


def _only_tensors(ctx: ModuleContext, loop: LoopNode, loss: str) -> bool:
    """Whether `loss` belongs to `loop` alone and, when the loop ends, still is what was differentiated."""
    scope = ctx.scope(loop)
    if scope.find(loss) is not scope or loss in scope.outer or isinstance(scope.node, ast.ClassDef):
        return False
    plain = [b for b in scope.bindings[loss] if b.kind not in ("augmented", "annotation")]
    assigned = (b.kind == "assign" and b.value is not None and ctx.inside(b.node, loop) for b in plain)
    if not plain or not all(assigned):
        return False  # also `del loss`, `with ... as loss`, a parameter, an unpacked tuple
    first = min(ctx.span(b.node)[0] for b in plain)
    if any(ctx.inside(use, loop) and ctx.span(use)[0] < first for use in ctx.uses(loss, scope)):
        return False  # the value of the last update is read first
    return not any(scalar_read(ctx, b.value) for b in plain if b.value is not None)  # loss = loss.item()


def _caught(ctx: ModuleContext, loop: LoopNode) -> bool:
    """Whether a `try` of the same function could swallow the error of a check after `loop`."""
    for above in ctx.ancestors(loop):
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return False
        for handler in getattr(above, "handlers", ()):
            names = _EXCEPTION.findall(ast.unparse(handler.type)) if handler.type is not None else [""]
            if not _STOPS.issuperset(names):
                return True
    return False


def _always_runs(ctx: ModuleContext, loop: LoopNode, node: ast.AST) -> bool:
    """Whether every pass of `loop` reaches `node`: no `if` or `try` stands between them."""
    for above in ctx.ancestors(node):
        if above is loop:
            return True
        if isinstance(above, ast.stmt) and not isinstance(above, (ast.Expr, ast.With, *LOOPS)):
            return False
    return False


def _update_loop(ctx: ModuleContext, loops: Loops, node: ast.AST) -> LoopNode | None:
    best: LoopNode | None = None
    loop = ctx.enclosing_loop(node)
    while loop is not None:
        # A loop that also collects, or that plainly is the training loop, is no longer one update.
        if loops.steps_inside(loop) or loop.orelse or _COLLECTS.search(ctx.text(loop)):
            break
        best = loop
        loop = ctx.enclosing_loop(loop)
    return best


def checked_after(ctx: ModuleContext, loop: LoopNode) -> bool:
    """Whether one of the statements after `loop` already tests something for finite values."""
    block = ctx.block(loop)
    return any("isfinite" in ctx.text(s) for s in block[block.index(loop) + 1 :][:4])


def has_own_validation_off(ctx: ModuleContext) -> bool:
    """Whether the module itself turned validation off for the whole process."""
    return "set_default_validate_args(False)" in ctx.source
