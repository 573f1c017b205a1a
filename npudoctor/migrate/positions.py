"""What role a device string plays: does it decide a device, is it compared with one, or is it data?

The judgement is made on syntax and resolved names alone. A string counts as a device only
where torch (or a name that can only mean a device) takes it; everything else is reported
by the residue rule and left as it is.
"""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from npudoctor.migrate.calls import string_of
from npudoctor.migrate.vocabulary import DEVICE, FOREIGN_ROOTS, Vocabulary, is_simulator_name

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


@enum.unique
class Role(enum.Enum):
    """The part an expression plays."""

    PRODUCER = "producer"  # a device is made or chosen from it
    COMPARISON = "comparison"  # it is compared with a device
    CHOICES = "choices"  # one of the values an option accepts
    DATA = "data"  # provably not torch's: a key, another library's argument
    UNKNOWN = "unknown"


_WITH_DEFAULT = {"get": 1, "setdefault": 1, "pop": 1, "getenv": 1}
_SPEECH = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "log", "exception", "add_text", "write"}
)
_OPTION_CALLS = ("add_argument", "option", "Option", "Argument", "add_option")
_FIELD_CALLS = ("field", "Field", "attrib", "ib")


def outermost(ctx: ModuleContext, node: ast.expr) -> tuple[ast.expr, ast.AST | None]:
    """The device expression that `node` is the head of, and what holds it.

    Climbs through ternaries, `or`, string building, `str(...)` and list brackets, so that
    `"cuda"` in `torch.device(f"cuda:{i}" if ok else "cpu")` leads to the call.
    """
    current: ast.expr = node
    while True:
        above = ctx.parent(current)
        step = _step(ctx, current, above)
        if step is None:
            return current, above
        current = step


def _step(ctx: ModuleContext, node: ast.expr, above: ast.AST | None) -> ast.expr | None:
    if isinstance(above, ast.IfExp) and node is not above.test:
        return above
    if isinstance(above, ast.BoolOp):
        return above
    if isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Mod)) and node is above.left:
        return above
    if isinstance(above, ast.FormattedValue) and isinstance(ctx.parent(above), ast.JoinedStr):
        joined = ctx.parent(above)
        assert isinstance(joined, ast.JoinedStr)
        return joined if joined.values[0] is above else None
    if isinstance(above, ast.Attribute) and above.attr == "format":
        call = ctx.parent(above)
        return call if isinstance(call, ast.Call) and call.func is above else None
    if (
        isinstance(above, ast.Call)
        and node in above.args
        and ctx.qualified_name(above.func) == "builtins.str"
    ):
        return above
    return None


def role_of(ctx: ModuleContext, node: ast.expr, voc: Vocabulary = DEVICE) -> Role:
    """The role of the string expression `node`, read as a device or as what `voc` says."""
    expr, above = outermost(ctx, node)
    role = _role_in(ctx, expr, above, voc)
    return Role.PRODUCER if role is Role.UNKNOWN and is_torch_ternary(ctx, expr) else role


def _role_in(ctx: ModuleContext, expr: ast.expr, above: ast.AST | None, voc: Vocabulary) -> Role:
    if isinstance(above, ast.keyword):
        return _keyword(ctx, expr, above, voc)
    if isinstance(above, ast.Call):
        return _positional(ctx, expr, above, voc)
    if isinstance(above, ast.Compare):
        return Role.COMPARISON if _compares(above, expr) else Role.DATA
    if isinstance(above, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and expr is above.value:
        return _assigned(ctx, above, voc)
    if isinstance(above, ast.arguments):
        name = parameter_of_default(above, expr)
        owner = getattr(ctx.parent(above), "name", "")
        if owner.startswith("register"):  # a registry of backends, not a place for a tensor
            return Role.UNKNOWN
        return Role.PRODUCER if voc.fits(name) else Role.UNKNOWN
    if isinstance(above, ast.Return):
        function = ctx.enclosing_function(above)
        named = voc.fits(getattr(function, "name", "").replace("get_", ""))
        return Role.PRODUCER if named else Role.UNKNOWN
    if isinstance(above, ast.Dict):
        return _in_dict(ctx, expr, above, voc)
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)):
        return _in_list(ctx, above, voc)
    if isinstance(above, (ast.Subscript, ast.Expr)):
        return Role.DATA
    if match_of(ctx, above) is not None:
        return Role.COMPARISON
    return Role.UNKNOWN


def match_of(ctx: ModuleContext, pattern: ast.AST | None) -> ast.AST | None:
    """The `match` statement of which `pattern` is a whole case, or one of its `|` alternatives.

    By the names of the nodes, which Python 3.9 does not have.
    """
    if type(pattern).__name__ != "MatchValue":
        return None
    assert pattern is not None
    above = ctx.parent(pattern)
    if type(above).__name__ == "MatchOr":
        assert above is not None
        above = ctx.parent(above)
    return ctx.parent(above) if type(above).__name__ == "match_case" and above is not None else None


def _keyword(ctx: ModuleContext, expr: ast.expr, keyword: ast.keyword, voc: Vocabulary) -> Role:
    call = ctx.parent(keyword)
    if not isinstance(call, ast.Call) or keyword.arg is None:
        return Role.UNKNOWN
    if is_foreign(ctx, call.func) or is_simulator_name(keyword.arg):
        return Role.DATA
    if keyword.arg in ("default", "default_value"):
        option = option_name(ctx, call)
        if voc.fits(option) or (voc is DEVICE and becomes_device(ctx, option)):
            return Role.PRODUCER
    if voc.fits(keyword.arg):
        return Role.PRODUCER
    if keyword.arg == "type" and ctx.qualified_name(call.func) == "torch.device" and voc is DEVICE:
        return Role.PRODUCER
    if keyword.arg == "device_map":
        return Role.PRODUCER
    return Role.DATA if keyword.arg in ("help", "description", "name", "key", "title") else Role.UNKNOWN


def becomes_device(ctx: ModuleContext, option: str | None) -> bool:
    """Whether the module makes a torch.device of the option, whatever it is called, and only that.

    `torch.device(args.where)` proves what the default of `--where` is, unless the module also
    compares the option's text.
    """
    name = (option or "").lstrip("-").replace("-", "_")

    def reads(node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == name

    made = any(
        call.args and reads(call.args[0]) and ctx.qualified_name(call.func) == "torch.device"
        for call in ctx.nodes(ast.Call)
    )
    return made and not any(
        reads(side) for test in ctx.nodes(ast.Compare) for side in (test.left, *test.comparators)
    )


def last_name(node: ast.expr) -> str:
    """The last component of a name, `b` of `a.b`; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def option_name(ctx: ModuleContext, call: ast.Call) -> str | None:
    """Name of the option that an `add_argument`/`click.option`/`field` call declares."""
    last = last_name(call.func)
    if last in _OPTION_CALLS:
        texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        dest = [k.value.value for k in call.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)]
        long = [t for t in texts if t.startswith("--")] or texts
        return str(dest[0]) if dest else (long[0].split("/")[0] if long else _assigned_name(ctx, call))
    return _assigned_name(ctx, call) if last in _FIELD_CALLS else None


def _assigned_name(ctx: ModuleContext, node: ast.AST) -> str | None:
    above = ctx.parent(node)
    if isinstance(above, ast.arguments) and isinstance(node, ast.expr):
        return parameter_of_default(above, node)
    targets = above.targets if isinstance(above, ast.Assign) else [getattr(above, "target", None)]
    return name_of_target(targets[0]) if targets else None


def _positional(ctx: ModuleContext, expr: ast.expr, call: ast.Call, voc: Vocabulary) -> Role:
    if expr is call.func or expr not in call.args:
        return Role.UNKNOWN
    index = call.args.index(expr)
    path = ctx.qualified_name(call.func)
    if path is not None and path in voc.arguments:
        return Role.PRODUCER if voc.arguments[path] == index else Role.DATA
    if voc is DEVICE and index == 0 and _asks_a_device(path):
        return Role.PRODUCER
    if is_foreign(ctx, call.func):
        return Role.DATA
    if path in ("builtins.print", "warnings.warn") or _is_speech(call.func):
        return Role.DATA
    if path == "builtins.hasattr":
        return Role.DATA
    if path == "builtins.getattr" and index == 1:  # getattr(torch, "cuda") is torch.cuda
        return Role.PRODUCER if ctx.qualified_name(call.args[0]) == "torch" else Role.DATA
    if path in ("builtins.getattr", "builtins.setattr") and index == 2:
        return Role.PRODUCER if voc.fits(string_of(call.args[1])) else Role.UNKNOWN
    declares = index == 0 and last_name(call.func) in (*_FIELD_CALLS, "Option", "Argument")
    if declares and voc.fits(_assigned_name(ctx, call)):  # device: str = typer.Option("cuda")
        return Role.PRODUCER
    if isinstance(call.func, ast.Attribute):
        method = call.func.attr
        if method in voc.methods and index == 0:
            return Role.PRODUCER
        if method in ("startswith", "find", "count", "endswith") and index == 0:
            return Role.COMPARISON
        if method in _WITH_DEFAULT and index == 0:
            return Role.DATA  # a key
        if method == "append" and voc.fits_list(name_of_target(call.func.value)):
            return Role.PRODUCER
        if _WITH_DEFAULT.get(method) == index:
            return Role.PRODUCER if voc.fits(string_of(call.args[0])) else Role.UNKNOWN
    name = parameter_name(ctx, call, index)
    return Role.PRODUCER if voc.fits(name) else Role.UNKNOWN


def _asks_a_device(path: str | None) -> bool:
    """`torch.cuda.synchronize("cuda:1")`, `memory_allocated`, `get_device_name` and the like."""
    parts = (path or "").split(".")
    return len(parts) == 3 and parts[0] == "torch" and parts[1] in ("cuda", "npu")


def _is_speech(func: ast.expr) -> bool:
    """`logger.info(...)`, `writer.add_text(...)`, `raise ValueError(...)`: words for people."""
    if isinstance(func, ast.Attribute):
        return func.attr in _SPEECH
    return isinstance(func, ast.Name) and func.id.endswith(("Error", "Warning", "Exception"))


def parameter_name(ctx: ModuleContext, call: ast.Call, index: int) -> str | None:
    """Name of the parameter that positional argument `index` fills, for functions of this module."""
    if not isinstance(call.func, ast.Name) or any(isinstance(a, ast.Starred) for a in call.args[:index]):
        return None
    nodes = [b.node for b in ctx.bindings(call.func)]
    if len(nodes) != 1:
        return None
    function, skip = nodes[0], 0
    if isinstance(function, ast.ClassDef):
        inits = [n for n in function.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if not inits:
            fields = [n.target for n in function.body if isinstance(n, ast.AnnAssign)]
            return name_of_target(fields[index]) if function.decorator_list and index < len(fields) else None
        function, skip = inits[0], 1
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][skip:]
    return names[index] if index < len(names) else None


def _compares(compare: ast.Compare, expr: ast.expr) -> bool:
    if expr is compare.left:
        return isinstance(compare.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot))
    at = compare.comparators.index(expr)
    return isinstance(compare.ops[at], (ast.Eq, ast.NotEq))


def _assigned(ctx: ModuleContext, node: ast.Assign | ast.AnnAssign | ast.NamedExpr, voc: Vocabulary) -> Role:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [name_of_target(t) for t in targets]
    if any(is_simulator_name(n) for n in names):
        return Role.DATA
    if all(voc.fits(n) for n in names):
        return Role.PRODUCER
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and flows_to(ctx, targets[0], voc):
        return Role.PRODUCER
    return Role.UNKNOWN


def flows_to(ctx: ModuleContext, target: ast.Name, voc: Vocabulary = DEVICE) -> bool:
    """Whether every read of a variable is in a device position, and there is at least one."""
    scope = ctx.scope(target).find(target.id)
    uses = ctx.uses(target.id, scope) if scope is not None else []
    marks = ctx.memo.setdefault("flowing", set())
    if target.id in marks:
        return False
    marks.add(target.id)
    try:
        roles = [role_of(ctx, use, voc) for use in uses]
    finally:
        marks.discard(target.id)
    return Role.PRODUCER in roles and all(r in (Role.PRODUCER, Role.COMPARISON) for r in roles)


def is_torch_ternary(ctx: ModuleContext, node: ast.expr) -> bool:
    """`"cuda" if <torch says there is one> else "cpu"`: nothing but a device."""
    if not isinstance(node, ast.IfExp):
        return False
    tested = {ctx.qualified_name(n.func) for n in ast.walk(node.test) if isinstance(n, ast.Call)}
    other = string_of(node.orelse)
    return bool(tested & {"torch.cuda.is_available", "torch.npu.is_available"}) and (
        other in ("cpu", "mps") or isinstance(node.orelse, ast.IfExp)
    )


def _in_dict(ctx: ModuleContext, expr: ast.expr, above: ast.Dict, voc: Vocabulary) -> Role:
    if expr in above.keys:
        return Role.DATA
    key = above.keys[above.values.index(expr)]
    if voc.fits(string_of(key)):
        return Role.PRODUCER
    holder = ctx.parent(above)
    is_map = isinstance(holder, ast.keyword) and holder.arg in ("map_location", "device_map")
    return Role.PRODUCER if is_map else Role.UNKNOWN


def _in_list(ctx: ModuleContext, above: ast.List | ast.Tuple | ast.Set, voc: Vocabulary) -> Role:
    holder = ctx.parent(above)
    if isinstance(holder, ast.keyword):
        if holder.arg == "choices":
            return Role.CHOICES
        if any((string_of(e) or "").startswith("npu") for e in above.elts):
            return Role.DATA  # a list that knows both
        known = voc.fits_list(holder.arg) or voc.fits(holder.arg)
        return Role.PRODUCER if known else Role.UNKNOWN
    if isinstance(holder, ast.Compare) and above is not holder.left:
        return Role.COMPARISON
    if isinstance(holder, ast.Call) and getattr(holder.func, "attr", "") == "startswith":
        return Role.COMPARISON
    if isinstance(holder, ast.Call) and last_name(holder.func) == "Choice":
        return Role.CHOICES
    if isinstance(holder, (ast.Assign, ast.AnnAssign)):
        targets = holder.targets if isinstance(holder, ast.Assign) else [holder.target]
        names = [name_of_target(t) for t in targets]
        return Role.PRODUCER if all(voc.fits_list(n) for n in names) else Role.UNKNOWN
    if isinstance(holder, (ast.For, ast.comprehension)) and above is holder.iter:
        return Role.PRODUCER if voc.fits(name_of_target(holder.target)) else Role.UNKNOWN
    if isinstance(holder, ast.Call) and getattr(holder.func, "attr", "") == "parametrize" and holder.args:
        return Role.PRODUCER if voc.fits(string_of(holder.args[0])) else Role.UNKNOWN
    if isinstance(holder, ast.IfExp) and holder.body is above:
        return Role.PRODUCER if _list_if_available(ctx, holder, above) else Role.UNKNOWN
    if isinstance(holder, ast.Lambda) and isinstance(ctx.parent(holder), ast.keyword):
        call = ctx.parent(ctx.parent(holder))  # type: ignore[arg-type]
        named = option_name(ctx, call) if isinstance(call, ast.Call) else None
        return Role.PRODUCER if voc.fits_list(named) else Role.UNKNOWN
    if isinstance(holder, ast.Subscript):
        return Role.CHOICES  # Literal["cpu", "cuda"]
    return Role.UNKNOWN


def _list_if_available(ctx: ModuleContext, choice: ast.IfExp, body: ast.List | ast.Tuple | ast.Set) -> bool:
    """`["cuda"] if torch.cuda.is_available() else []`: a list of devices."""
    if not isinstance(choice.orelse, (ast.List, ast.Tuple, ast.Set)):
        return False
    tested = {ctx.qualified_name(n.func) for n in ast.walk(choice.test) if isinstance(n, ast.Call)}
    words = {(string_of(e) or "?").split(":")[0] for e in (*body.elts, *choice.orelse.elts)}
    known = bool(tested & {"torch.cuda.is_available", "torch.npu.is_available"})
    return known and words <= {"cuda", "npu", "cpu", "mps"} and not {"cuda", "npu"} <= words


def parameter_of_default(arguments: ast.arguments, default: ast.expr) -> str | None:
    """Name of the parameter whose default value is `default`."""
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults)
    for arg, value in [*zip(with_default, arguments.defaults), *named]:
        if value is default:
            return arg.arg
    return None


def name_of_target(target: ast.AST | None) -> str | None:
    """The last name of an assignment target: `x`, `self.x`, `cfg["x"]`."""
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    return string_of(target.slice) if isinstance(target, ast.Subscript) else None


def is_foreign(ctx: ModuleContext, func: ast.expr) -> bool:
    """Whether a call goes to a library whose devices are not torch's."""
    path = ctx.qualified_name(func)
    return path is not None and path.split(".")[0] in FOREIGN_ROOTS
