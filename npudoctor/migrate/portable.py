"""Portable style on a machine with neither NPU nor CUDA: what a device string or a call becomes there.

The picker says "cpu" there, while `accelerator_module` stays `torch.cuda`, which answers "none" to a
question and does nothing when told to seed or to free. So what only places tensors says
`accelerator_type`; what means nothing on a CPU (autocast, a gradient scaler, a comparison of devices)
goes on saying "cuda", which is inert there; what would raise goes to `torch.cpu` or is left out.
"""

from __future__ import annotations

import ast
import enum
import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from npudoctor import tables
from npudoctor.migrate.positions import outermost

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

TYPE = "accelerator_type"  # "npu", "cuda" or "cpu"
MODULE = "accelerator_module"  # torch.npu or torch.cuda

_ASKING = frozenset(
    {
        "builtins.getattr",  # getattr(torch, "cuda")
        "torch.autocast",
        "torch.amp.autocast",
        "torch.amp.autocast_mode.autocast",
        "torch.amp.GradScaler",
        "torch.amp.grad_scaler.GradScaler",
        "torch.amp.custom_fwd",
        "torch.amp.custom_bwd",
        "torch.amp.is_autocast_available",
        "torch.is_autocast_enabled",
        "torch.get_autocast_dtype",
        "torch.set_autocast_dtype",
        "torch.set_autocast_enabled",
        "torch.get_device_module",
        "torch.random.fork_rng",
    }
)
# What keeps the device it is given: torch.load refuses "cpu:0" where every other place takes it.
_KEEPING = frozenset({"torch.device", "torch.load", "torch.jit.load", "torch.set_default_device"})
_PLACING_METHODS = frozenset(
    {"to", "to_empty", "new_tensor", "new_zeros", "new_ones", "new_empty", "new_full"}
)
_TIGHTER = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Attribute, ast.Subscript, ast.Starred)
_CARD, _HOST = re.compile(r"""["']cuda["':]"""), re.compile(r"""["']cpu["':]""")
_OTHERWISE_CPU = re.compile(r"""["']cpu\b""")
_CATCHING = re.compile(r"\b(?:Exception|BaseException|RuntimeError|AssertionError)\b")


@enum.unique
class Use(enum.Enum):
    """What is done with a device string."""

    PLACE = "a tensor or module goes there now"
    KEEP = "it is stored, or names where a checkpoint goes"
    ASK = "it names an accelerator, never the CPU"


def use_of(ctx: ModuleContext, node: ast.expr) -> Use:
    """What the device string `node` is for."""
    expr, above = outermost(ctx, node)
    call = ctx.parent(above) if isinstance(above, ast.keyword) else above
    if isinstance(call, ast.Call) and expr is not call.func:
        return _use_in_call(ctx, call, above.arg if isinstance(above, ast.keyword) else None)
    if isinstance(above, (ast.Assign, ast.AnnAssign)):
        targets = above.targets if isinstance(above, ast.Assign) else [above.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and _only_asks(ctx, targets[0]):
            return Use.ASK
    return Use.KEEP


def _use_in_call(ctx: ModuleContext, call: ast.Call, keyword: str | None) -> Use:
    path = ctx.called_name(call) or ""
    if path in _ASKING or keyword == "pin_memory_device" or (path == "torch.device" and _compared(ctx, call)):
        return Use.ASK
    if path.startswith("torch."):
        return Use.KEEP if path in _KEEPING else Use.PLACE
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return Use.PLACE if method in _PLACING_METHODS else Use.KEEP


def _only_asks(ctx: ModuleContext, target: ast.Name) -> bool:
    """Whether a variable is only ever given to what asks: `kind = "cuda"`, `autocast(kind)`."""
    scope = ctx.scope(target).find(target.id)
    uses = ctx.uses(target.id, scope) if scope is not None else []
    holders = [ctx.parent(use) for use in uses]
    calls = [ctx.parent(h) if isinstance(h, ast.keyword) else h for h in holders]
    return bool(calls) and all(isinstance(c, ast.Call) and ctx.called_name(c) in _ASKING for c in calls)


def _compared(ctx: ModuleContext, node: ast.expr) -> bool:
    """Whether a device is one side of a comparison, as itself, its text or its type."""
    above = ctx.parent(node)
    while (
        isinstance(above, (ast.Attribute, ast.Tuple, ast.List, ast.Set))
        or ctx.called_name(above or node) == "builtins.str"
    ):
        above = ctx.parent(above) if above is not None else None
    if not isinstance(above, ast.Compare):
        return False
    # `assert x.device == torch.device("cuda")` says where x was put, and holds for the CPU as well.
    stated = isinstance(ctx.parent(above), ast.Assert) and [type(o) for o in above.ops] == [ast.Eq]
    return not stated


# -- guards ---------------------------------------------------------------------------------


def chosen(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` runs only where the program chose a device rather than "cpu", whatever it asked."""
    child: ast.AST = node
    for above in ctx.ancestors(node):
        if isinstance(above, ast.IfExp) and child is not above.test:
            other = above.orelse if child is above.body else above.body
            if _OTHERWISE_CPU.search(ctx.text(other)):
                return True
        child = above
    return guarded(ctx, node)


def guarded(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` runs only where a device was found: in the branch of such a test."""
    child: ast.AST = node
    for above in ctx.ancestors(node):
        if isinstance(above, (ast.If, ast.IfExp)) and child is not above.test:
            otherwise = child in above.orelse if isinstance(above, ast.If) else child is above.orelse
            if _asks(ctx, above.test, otherwise):
                return True
        child = above
    return False


def _asks(ctx: ModuleContext, test: ast.expr, negated: bool) -> bool:
    """Whether a test (or its opposite) is true only with a device."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks(ctx, test.operand, not negated)
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.And) is not negated  # one part of `a and b` is enough
        return (any if every else all)(_asks(ctx, value, negated) for value in test.values)
    if isinstance(test, ast.Name):
        given = [b.value for b in ctx.bindings(test)]
        return bool(given) and all(
            v is not None and not isinstance(v, ast.Name) and _asks(ctx, v, negated) for v in given
        )
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares(ctx, test, negated)
    return not negated and isinstance(test, ast.Call) and ctx.text(test.func).endswith(".is_available")


def _compares(ctx: ModuleContext, test: ast.Compare, negated: bool) -> bool:
    """`device.type == "cuda"`, `device != "cpu"`, `device_count() > 1`, or the opposite of one of them."""
    text, operator = ctx.text(test), test.ops[0]
    if isinstance(operator, ast.Gt):
        return not negated and "device_count()" in text
    differs = isinstance(operator, (ast.NotEq, ast.NotIn))
    if not differs and not isinstance(operator, (ast.Eq, ast.In)):
        return False
    if _CARD.search(text):
        return differs is negated
    return _HOST.search(text) is not None and differs is not negated


def caught(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether an error at `node` is caught and may be the answer to a question."""
    child: ast.AST = node
    for above in ctx.ancestors(node):
        if isinstance(above, ast.Try) and child in above.body:
            types = [ctx.text(h.type) if h.type is not None else "Exception" for h in above.handlers]
            if any(_CATCHING.search(name) for name in types):
                return True
        child = above
    return False


# -- forms ----------------------------------------------------------------------------------


@functools.cache
def on_cpu() -> Mapping[str, str]:
    """Name under torch.cuda that raises without CUDA -> what is done with it on a CPU.

    `module`: torch.cpu has it; `bare`: without arguments; `skip`: it has nothing to do there;
    `probe`, `start`: as `module` and `skip`, unless an error that is caught is the answer to a question.
    """
    return {row["name"]: row["form"] for row in tables.load("torch_cpu_names").rows}


def choice(npu: str, cuda: str, quote: str = '"') -> str:
    """An expression for what means nothing on a CPU; `npu` and `cuda` are expressions."""
    return f"{npu} if {TYPE} == {quote}npu{quote} else {cuda}"


def not_on_cpu(value: str, otherwise: str, quote: str = '"') -> str:
    """An expression that is `otherwise` on a CPU."""
    return f"{otherwise} if {TYPE} == {quote}cpu{quote} else {value}"


def is_ours(node: ast.AST | None) -> bool:
    """Whether `node` is a ternary that asks the picker: one of the forms above."""
    return isinstance(node, ast.IfExp) and is_question(node.test)


def is_question(node: ast.AST) -> bool:
    """Whether `node` compares the picker's answer with something."""
    return isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == TYPE


def quote_for(ctx: ModuleContext, node: ast.AST) -> str:
    """The quote that new strings at `node` take: before Python 3.12 not that of an f-string around it."""
    around = [ctx.text(above) for above in ctx.ancestors(node) if isinstance(above, ast.JoinedStr)]
    return "'" if any('"' in text[: text.find("{")] for text in around) else '"'


def bracketed(ctx: ModuleContext, node: ast.AST, text: str) -> str:
    """A ternary as it can stand in the place of `node`."""
    above = ctx.parent(node)
    if isinstance(above, ast.IfExp):
        return text if node is above.orelse else f"({text})"
    return f"({text})" if isinstance(above, _TIGHTER) or getattr(above, "func", None) is node else text


def module_text(ctx: ModuleContext, node: ast.Attribute, inner: ast.Attribute) -> str:
    """What stands for the `torch.cuda` (`inner`) of a call or name `node`."""
    name, torch = ctx.qualified_name(node) or "", ctx.text(inner.value)
    if guarded(ctx, node):
        return MODULE
    form = on_cpu().get(name)
    taken = {"module": True, "probe": not caught(ctx, node), "bare": _has_no_arguments(ctx.parent(node))}
    if form is not None and taken.get(form):
        return f"getattr({torch}, {TYPE})"
    skipped = form == "skip" or (form == "start" and not caught(ctx, node))
    if skipped and _is_statement(ctx, node):
        at = ctx.span(inner)[0]
        if not _is_alone(ctx, node, at):
            return f'{TYPE} != "cpu" and {MODULE}'
        indent = ctx.source[ctx.line_span(ctx.position(at)[0])[0] : at]
        deeper = indent + ("\t" if "\t" in indent else "    ")
        return f'if {TYPE} != "cpu":{ctx.newline}{deeper}{MODULE}'
    if name.endswith("Tensor") and _makes(ctx, node):
        return "(" + not_on_cpu(MODULE, torch, quote_for(ctx, node)) + ")"
    return MODULE


def needs_card(ctx: ModuleContext, node: ast.Attribute, inner: ast.Attribute) -> bool:
    """Whether a call that raises without CUDA goes on doing so, and nothing stands before it."""
    return module_text(ctx, node, inner) == MODULE and not chosen(ctx, node) and not caught(ctx, node)


def _has_no_arguments(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and not call.args and not call.keywords


def _is_statement(ctx: ModuleContext, node: ast.Attribute) -> bool:
    """Whether the call of `node` is a statement."""
    call = ctx.parent(node)
    return isinstance(call, ast.Call) and call.func is node and isinstance(ctx.parent(call), ast.Expr)


def _is_alone(ctx: ModuleContext, node: ast.Attribute, begin: int) -> bool:
    """Whether the statement of `node` begins at `begin`, on lines of its own."""
    start, end = ctx.span(ctx.statement(node))
    first, last = ctx.line_span(ctx.position(start)[0])[0], ctx.line_span(ctx.position(end)[0])[1]
    alone = not ctx.source[first:start].strip() and not ctx.source[end:last].lstrip().startswith(";")
    return alone and start == begin


def _makes(ctx: ModuleContext, node: ast.Attribute) -> bool:
    """Whether a tensor type is called, or given to `.type()`; to ask for one must stay a no on a CPU."""
    above = ctx.parent(node)
    if not isinstance(above, ast.Call):
        return False
    return above.func is node or getattr(above.func, "attr", "") == "type"
