"""What keeps a deferred read from being proved equal: each hazard with the words that explain it."""

from __future__ import annotations

import ast
import bisect
import re
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import LOOPS, LoopNode
from npudoctor.migrate.names import COMPREHENSIONS, FUNCTIONS
from npudoctor.migrate.torchnames import runs_as_torch

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Scope

NAMESPACE = Text(
    "locals(), eval() or a debugger could see the unread tensors",
    "locals()、eval() 或调试器可能看到尚未读回的张量",
)
GENERATOR = Text(
    "the function is a generator or a coroutine and can stop inside the loop",
    "该函数是生成器或协程，可能在循环中途停住",
)
CLOSURE = Text("a nested function or lambda uses the name", "嵌套函数或 lambda 使用了该名字")
GUARDED = Text(
    "an exception or a context manager could leave the loop early and the value be read",
    "异常或上下文管理器可能提前离开循环，之后仍会读取该值",
)
ELSE = Text("the loop has an else branch", "循环带有 else 分支")
UNBOUNDED = Text(
    "the loop has no bound, so the unread tensors could pile up in device memory",
    "循环没有上界，未读回的张量可能在设备内存中堆积",
)
WHOLE_TRAINING = Text(
    "the values are kept for the whole training, not for one update: read them once per update",
    "这些值保留到整个训练结束，而不是一次更新：请改为每次更新读回一次",
)
ASYNC = Text(
    "the function uses non_blocking copies, streams or graphs, and the read may be what orders them",
    "函数中使用了 non_blocking 拷贝、流或图捕获，该读取可能正起着排序作用",
)
COMPILED = Text("the function is compiled or scripted", "该函数被编译或脚本化")
DEVICES = Text("the loop works on several devices", "循环涉及多个设备")
HOST_VALUES = Text(
    "some of the values are made on the host and others on the device, and one transfer takes only one kind",
    "部分值在主机上生成、部分在设备上，一次传输只能处理其中一种",
)
NO_TORCH_NAME = Text("torch is not imported under a name of its own", "torch 没有以自己的名字导入")

CELLS = Text(
    "the list is made in another cell, and a cell may be run again",
    "该列表在另一个单元格中创建，而单元格可能被重复运行",
)
_MOVES = frozenset({"to", "cuda", "npu", "set_device", "device"})
_CELL = re.compile(r"^# ?(?:<npudoctor cell \d+>$|%%)", re.M)  # a notebook's cell, or a script's

_ASYNC = re.compile(
    r"non_blocking|\.stream\(|\bStream\(|CUDAGraph|NPUGraph|\.replay\(|\.graph\(|record_stream"
)
_COMPILED = re.compile(r"jit|script|compile|vmap|functorch|numba|njit|dynamo")
_SNOOPING = frozenset({"locals", "eval", "exec", "globals", "breakpoint"})
_SNOOPING_TEXT = re.compile(
    r"\b(locals|eval|exec|globals|breakpoint|vars|dir|_getframe|set_trace|currentframe)\b"
)
_SNOOPING_BARE = frozenset({"vars", "dir"})  # of the scope itself only without an argument
# Context managers that never swallow an exception and never change the order of device work.
_PLAIN_CONTEXT = re.compile(
    r"(^|\.)(no_grad|enable_grad|inference_mode|set_grad_enabled|autocast|amp_ctx|record_function|accumul"
    "ate"
    r"|no_sync|profile|detect_anomaly|open|tqdm|timer?|trange)$"
)


def of_function(ctx: ModuleContext, scope: Scope, region: LoopNode) -> Text | None:
    """A hazard of the function that holds `region`, or None."""
    known: dict[ast.AST, Text | None] = ctx.memo.setdefault("hazards", {})
    if scope.node not in known:
        known[scope.node] = _of_whole(ctx, scope.node)
    return known[scope.node] or of_order(ctx, scope.node, region)


def _of_whole(ctx: ModuleContext, owner: ast.AST) -> Text | None:
    if isinstance(owner, ast.AsyncFunctionDef) or _suspends(ctx, owner):
        return GENERATOR
    return NAMESPACE if sees_names(ctx, owner) else None


def sees_names(ctx: ModuleContext, owner: ast.AST) -> bool:
    """Whether code of `owner` looks at its variables by `locals()` and the like, also at added ones."""
    known: dict[ast.AST, bool] = ctx.memo.setdefault("sees names", {})
    if owner not in known:
        known[owner] = _looks_at_names(ctx, owner)
    return known[owner]


def _looks_at_names(ctx: ModuleContext, owner: ast.AST) -> bool:
    watched = _SNOOPING_TEXT.search(ctx.source) is not None  # to look at the calls is only worth it then
    for call in ctx.within(owner, ast.Call) if watched else ():
        name = ctx.qualified_name(call.func) or ""
        head, _, last = name.partition(".")
        if head == "builtins" and (last in _SNOOPING or (last in _SNOOPING_BARE and not call.args)):
            return True
        if name in ("sys._getframe", "pdb.set_trace", "inspect.currentframe"):
            return True
    return False


def of_order(ctx: ModuleContext, owner: ast.AST, place: ast.stmt) -> Text | None:
    """A hazard for moving a read of `place`, in scope `owner`, past other device work, or None."""
    whole = _outermost(ctx, place) if isinstance(owner, ast.Module) else owner
    known: dict[ast.AST, bool] = ctx.memo.setdefault("asynchronous", {})
    if whole not in known:
        known[whole] = _ASYNC.search(ctx.text(whole)) is not None
    if known[whole]:
        return ASYNC
    if _is_compiled(ctx, owner):
        return COMPILED
    return None


def _outermost(ctx: ModuleContext, node: ast.stmt) -> ast.stmt:
    top: ast.stmt = node
    for above in ctx.ancestors(node):
        if isinstance(above, ast.stmt):
            top = above
    return top


def _suspends(ctx: ModuleContext, owner: ast.AST) -> bool:
    """Whether this very function yields or awaits."""
    if not isinstance(owner, FUNCTIONS):
        return False
    points: list[ast.AST] = [*ctx.within(owner, ast.Yield), *ctx.within(owner, ast.YieldFrom)]
    points += ctx.within(owner, ast.Await)
    return any(_innermost(ctx, point) is owner for point in points)


def _innermost(ctx: ModuleContext, node: ast.AST) -> ast.AST | None:
    """The function or class that `node` stands in, wherever in it."""
    return next((a for a in ctx.ancestors(node) if isinstance(a, (*FUNCTIONS, ast.ClassDef))), None)


def _is_compiled(ctx: ModuleContext, owner: ast.AST) -> bool:
    if "jit.script" in ctx.source:
        return True
    decorators = getattr(owner, "decorator_list", [])
    if any(_COMPILED.search(ast.unparse(d)) for d in decorators):
        return True
    name = getattr(owner, "name", None)
    return bool(name) and re.search(rf"\bcompile\(\s*(self\.)?{name}\b", ctx.source) is not None


def of_region(ctx: ModuleContext, region: LoopNode, place: ast.AST) -> Text | None:
    """A hazard of the loops and blocks from `region` down to `place`, or None."""
    for above in ctx.ancestors(place):
        if isinstance(above, LOOPS):
            if above.orelse:
                return ELSE
            if isinstance(above, ast.While) and isinstance(above.test, ast.Constant):
                return UNBOUNDED
            if isinstance(above, ast.AsyncFor):
                return GENERATOR
        elif _is_try(above) or (isinstance(above, (ast.With, ast.AsyncWith)) and not _plain_with(above)):
            return GUARDED
        elif isinstance(above, (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)):
            return CLOSURE
        if above is region:
            return _several_devices(ctx, region)
    return None


def of_surroundings(ctx: ModuleContext, region: LoopNode, uses: list[ast.Name]) -> Text | None:
    """A `try` or foreign `with` around `region` from which a use of the name could escape."""
    child: ast.AST = region
    for above in ctx.ancestors(region):
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return None
        guarded = _is_try(above) or (isinstance(above, (ast.With, ast.AsyncWith)) and not _plain_with(above))
        if guarded:
            body = getattr(above, "body", [])
            if child not in body or not all(_inside(ctx, use, body) for use in uses):
                return GUARDED
        child = above
    return None


def in_try(ctx: ModuleContext, place: ast.AST) -> bool:
    """Whether a `try` of the same function guards `place`: an unbound name would raise earlier."""
    for above in ctx.ancestors(place):
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return False
        if _is_try(above):
            return True
    return False


def _inside(ctx: ModuleContext, node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(a in body for a in ctx.ancestors(node))


def _is_try(node: ast.AST) -> bool:
    return type(node).__name__ in ("Try", "TryStar")


def _plain_with(node: ast.With | ast.AsyncWith) -> bool:
    if isinstance(node, ast.AsyncWith):
        return False
    for item in node.items:
        made = item.context_expr
        name = ast.unparse(made.func if isinstance(made, ast.Call) else made)
        if not _PLAIN_CONTEXT.search(name):
            return False
    return True


def other_cell(ctx: ModuleContext, first: ast.AST, last: ast.AST) -> bool:
    """Whether a new cell begins between two places of a notebook or of a script with `# %%` marks."""
    return _CELL.search(ctx.source, ctx.span(first)[0], ctx.span(last)[1]) is not None


def has_cells(ctx: ModuleContext) -> bool:
    """Whether the text is a notebook, or a script with `# %%` marks."""
    return _CELL.search(ctx.source) is not None


def cell_of(ctx: ModuleContext, node: ast.AST) -> tuple[int, int]:
    """Span of the cell in which `node` begins; of the whole text where there are no cells."""
    marks = [m.start() for m in _CELL.finditer(ctx.source)]
    at = bisect.bisect_right(marks, ctx.span(node)[0])
    return (marks[at - 1] if at else 0), (marks[at] if at < len(marks) else len(ctx.source))


def _on_a_varying_device(ctx: ModuleContext, node: ast.Call, region: LoopNode) -> bool:
    """`x.to(d)`, `x.cuda(d)` or `device=d` inside `region` with a `d` that its loops hand out."""
    moves = isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES
    given = [*(node.args if moves else ()), *(k.value for k in node.keywords if k.arg == "device")]
    names = [n for value in given for n in ctx.within(value, ast.Name)]
    handed = [b.node for name in names for b in ctx.bindings(name) if b.kind == "loop"]
    return any(ctx.inside(node, region) for node in handed)


def _several_devices(ctx: ModuleContext, region: LoopNode) -> Text | None:
    known: dict[ast.AST, Text | None] = ctx.memo.setdefault("devices", {})
    if region not in known:
        known[region] = DEVICES if _mentions_several(ctx, region) else None
    return known[region]


def _mentions_several(ctx: ModuleContext, region: LoopNode) -> bool:
    if any("device" in ast.unparse(s.value).lower() for s in ctx.within(region, ast.Subscript)):
        return True
    if any(_on_a_varying_device(ctx, call, region) for call in ctx.within(region, ast.Call)):
        return True
    firsts = [n.values[0] for n in ctx.within(region, ast.JoinedStr) if n.values]
    return any(isinstance(f, ast.Constant) and str(f.value).startswith(("cuda:", "npu:")) for f in firsts)


def torch_name(ctx: ModuleContext, place: ast.AST) -> str | None:
    """The name under which the module `torch` is visible at `place`."""
    scope = ctx.scope(place)
    seen: Scope | None = scope
    while seen is not None:
        for name, bindings in seen.bindings.items():
            if runs_as_torch(ctx, bindings) and scope.find(name) is seen:
                return name
        seen = seen.parent
    return None
