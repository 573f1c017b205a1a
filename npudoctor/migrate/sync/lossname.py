"""What a `.backward()` differentiates, whatever its form, and a name for a loss that has none."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.sync.hazards import sees_names
from npudoctor.migrate.sync.ops import ops

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# Objects that are handed the loss: accelerator.backward(loss), fabric.backward(loss).
_TAKES_LOSS = re.compile(r"(^|[._])(accelerator|fabric|engine|model_engine|ds_engine)$", re.I)
_A_LOSS = re.compile(r"loss|criterion|objective", re.I)
_PEELED = ("mean", "sum")


@dataclass(frozen=True)
class Loss:
    """The loss of one `.backward()`.

    Attributes:
        call: the backward call.
        node: the expression that is differentiated.
        name: its variable, or None for an expression without a name.
    """

    call: ast.Call
    node: ast.expr
    name: str | None


def loss_of(ctx: ModuleContext, call: ast.Call) -> Loss | None:
    """The loss of a call of `backward` (or `manual_backward`); None if it has no form that is known."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in ("backward", "manual_backward"):
        return None
    node: ast.expr = func.value
    if func.attr == "manual_backward" or _TAKES_LOSS.search(ast.unparse(node)):
        if len(call.args) != 1:
            return None
        node = call.args[0]
    scaled = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scale"
    if isinstance(node, ast.Call) and scaled and len(node.args) == 1:
        node = node.args[0]
    inner = node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PEELED:
        inner = node.func.value
    if isinstance(inner, ast.Name):
        return Loss(call, node, inner.id)
    return Loss(call, node, None) if _is_tensor(ctx, node) else None


def _is_tensor(ctx: ModuleContext, node: ast.expr) -> bool:
    """Arithmetic, or a call that by all its words gives a loss: `F.mse_loss(a, b)`, `x.mean()`."""
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return True
    if not isinstance(node, ast.Call):
        return False
    path = ctx.qualified_name(node.func) or ""
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return path.startswith("torch.") or last in ops("method") or _A_LOSS.search(last) is not None


def scalar(loss: Loss, name: str) -> str:
    """The text of one element that stands for the loss, to be added to those of other losses."""
    given = [*loss.call.args, *(k for k in loss.call.keywords if k.arg in ("gradient", None))]
    whole = loss.name is None or (isinstance(loss.node, ast.Name) and (loss.node in given or not given))
    return name if whole else f"{name}.mean()"


def can_name(ctx: ModuleContext, loss: Loss) -> bool:
    """Whether the loss may have a name: the backward call is a statement of its own line.

    Not where the graph is kept: the name would keep the activations during the next forward pass.
    """
    statement = ctx.parent(loss.call)
    keeps = {"retain_graph", "create_graph", None} & {k.arg for k in loss.call.keywords}
    if not isinstance(statement, ast.Expr) or keeps or sees_names(ctx, ctx.scope(statement).node):
        return False
    line, _ = ctx.line_span(statement.lineno)
    start, end = ctx.span(statement)
    return not ctx.source[line:start].strip() and "#" not in ctx.source[start:end]


def free_name(ctx: ModuleContext, place: ast.AST) -> str:
    """`loss`, or a longer name that the function around `place` does not use."""
    function = ctx.enclosing_function(place)
    text = ctx.text(function) if function is not None else ctx.source
    name = "loss"
    for wanted in ("loss", "total_loss", "update_loss"):
        name = wanted
        if not re.search(rf"\b{wanted}\b", text):
            return name
    while re.search(rf"\b{name}\b", text):
        name += "_"
    return name


def naming(ctx: ModuleContext, loss: Loss, name: str) -> tuple[tuple[int, int, str], ...]:
    """`(start, end, text)` around the loss: its name before it, the backward call in a line after it."""
    statement = ctx.statement(loss.call)
    line, _ = ctx.line_span(statement.lineno)
    start, end = ctx.span(statement)
    indent = ctx.source[line:start]
    inner_start, inner_end = ctx.span(loss.node)
    before, after = ctx.source[start:inner_start], ctx.source[inner_end:end]
    bare = loss.node is loss.call.func.value  # type: ignore[attr-defined]
    opened = re.search(r"(\(\s*)+$", before) if bare else None
    left, right = ("(", ")") if "\n" in ctx.source[inner_start:inner_end] else ("", "")
    if opened is not None:
        closed = re.match(r"[\s,)]*", after)
        assert closed is not None
        if "\n" in ctx.source[start + opened.start() : inner_end + closed.end()]:
            left, right = opened.group(), closed.group()
        before, after = before[: opened.start()], after[closed.end() :]
    return (
        (start, inner_start, f"{name} = {left}"),
        (inner_end, end, f"{right}\n{indent}{before}{name}{after}"),
    )
