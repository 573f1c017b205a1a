"""Lists and sums that are no plain variable: entries of a local dictionary, attributes of `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import LoopNode
from npudoctor.migrate.names import FUNCTIONS
from npudoctor.migrate.sync.sites import Site, is_text

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding

SEEN = Text(
    "code that runs in the loop may read or change `{name}`",
    "循环中运行的代码可能读取或修改 `{name}`",
)


def starts(value: ast.expr | None, is_sum: bool) -> bool:
    """Whether `value` is an empty list, or for a sum a number literal."""
    if is_sum and isinstance(value, ast.IfExp):  # `0 if self.rnd else None`: nothing is added to None
        return all(starts(v, True) or is_none(v) for v in (value.body, value.orelse))
    if is_sum:
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return isinstance(value, ast.List) and not value.elts


def is_none(node: ast.expr) -> bool:
    """Whether `node` is the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def entry_start(ctx: ModuleContext, before: list[ast.stmt], site: Site) -> Binding | None:
    """The binding that makes the dictionary, if its entry starts empty and nothing else touches it.

    `before` are the statements of the loop's block that stand before the loop.
    """
    assert isinstance(site.target, ast.Subscript)
    name, key = site.root.id, _key(site.target)
    scope = ctx.scope(site.root)
    empty = False
    for statement in reversed(before):
        mentions = sum(n.id == name for n in ctx.within(statement, ast.Name))
        if not mentions:
            continue
        made = [b for b in scope.bindings.get(name, ()) if b.node is statement]
        if made:
            whole = len(made) == 1 and isinstance(statement, ast.Assign) and len(statement.targets) == 1
            return made[0] if whole and (empty or _holds(made[0].value, key, site.is_sum)) else None
        stored = _stored(statement, name)
        if stored is None or mentions > 1:
            return None
        if _key(stored) == key:
            if not empty and not starts(statement.value, site.is_sum):  # type: ignore[attr-defined]
                return None
            empty = True
    return None


def _stored(statement: ast.stmt, name: str) -> ast.Subscript | None:
    """`name["key"]` of `name["key"] = value`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not (isinstance(target, ast.Subscript) and is_text(target.slice)):
        return None
    return target if isinstance(target.value, ast.Name) and target.value.id == name else None


def _holds(made: ast.expr | None, key: str, is_sum: bool) -> bool:
    """Whether a dictionary display has the key once, with an empty start."""
    if not isinstance(made, ast.Dict) or not all(k is not None and is_text(k) for k in made.keys):
        return False
    found = [v for k, v in zip(made.keys, made.values) if getattr(k, "value", None) == key]
    return len(found) == 1 and starts(found[0], is_sum)


def is_plain_dict(ctx: ModuleContext, made: ast.expr | None) -> bool:
    """Whether `made` is a dictionary that does nothing of its own: a display or `dict()`."""
    if isinstance(made, ast.Call):
        return ctx.called_name(made) == "builtins.dict" and not made.args and not made.keywords
    return isinstance(made, ast.Dict)


def _key(subscript: ast.Subscript) -> str:
    return str(getattr(subscript.slice, "value", ""))


def other_entry(ctx: ModuleContext, use: ast.Name, site: Site) -> bool:
    """Whether `use` is another entry of the same dictionary: `stats["other"]`."""
    above = ctx.parent(use)
    if not isinstance(above, ast.Subscript) or above.value is not use or not is_text(above.slice):
        return False
    return isinstance(site.target, ast.Subscript) and _key(above) != _key(site.target)


# -- attributes ------------------------------------------------------------------------------


def attribute_start(ctx: ModuleContext, site: Site, stores: Iterable[ast.Attribute]) -> bool:
    """Whether `self.x` always holds a number (or for lists, a list) as far as this module says."""
    function = ctx.enclosing_function(site.statement)
    if not isinstance(function, ast.FunctionDef) or not function.args.args:
        return False
    if function.args.args[0].arg != site.root.id or len(ctx.bindings(site.root)) != 1:
        return False
    if function.decorator_list or not isinstance(ctx.parent(function), ast.ClassDef) or not site.is_sum:
        return False
    values = []
    for store in stores:
        above = ctx.parent(store)
        if isinstance(above, ast.AugAssign) and above is site.statement:
            continue
        if not isinstance(above, (ast.Assign, ast.AnnAssign)) or not isinstance(above.value, ast.Constant):
            return False
        values.append(above.value)
    return bool(values) and all(starts(value, True) for value in values)


def attribute_seen(ctx: ModuleContext, loop: LoopNode, site: Site) -> bool:
    """Whether code that the loop runs may read `self.x`, as far as the names in this module tell."""
    assert isinstance(site.target, ast.Attribute)
    attribute = site.target.attr
    readers = {ctx.enclosing_function(site.statement)}
    for node in ctx.nodes(ast.Attribute):
        if node.attr == attribute and not ctx.inside(node, site.statement):
            if ctx.inside(node, loop):
                return True
            readers.add(ctx.enclosing_function(node))
    for constant in ctx.nodes(ast.Constant):
        if constant.value == attribute:
            return True  # getattr(self, "x"), or a table of names
    if "__dict__" in ctx.source or "vars(" in ctx.source:
        return True
    if any(function.name == attribute for function in ctx.nodes(ast.FunctionDef)):
        return True  # a property
    return not _names_run(ctx, loop).isdisjoint({_called_as(r) for r in readers if r is not None})


def _called_as(function: ast.AST) -> str:
    """The name under which a function is called; the empty text for one that runs unnamed."""
    name = getattr(function, "name", "")
    special = name.startswith("__") and name != "__init__"
    return "" if special or name == "forward" else name


def _names_run(ctx: ModuleContext, loop: LoopNode) -> set[str]:
    """Names that code in `loop` mentions, those in functions of this module that it may call included.

    The empty text stands for what runs unnamed (`__call__`, `forward`, operators) and is always there.
    """
    functions: dict[str, list[ast.AST]] = {}
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef):
        for function in ctx.nodes(kind):
            functions.setdefault(_called_as(function), []).append(function)
    found: set[str] = set()
    waiting: list[ast.AST] = [loop, *functions.get("", ())]
    while waiting:
        part = waiting.pop()
        names = {n.id for n in ctx.within(part, ast.Name)} | {n.attr for n in ctx.within(part, ast.Attribute)}
        for name in names - found:
            found.add(name)
            waiting += functions.get(name, ())
    return found | {""}


def leaves(loop: LoopNode) -> bool:
    """Whether the function can be left from within `loop`, so that what stands after it never runs."""
    stack: list[ast.AST] = list(loop.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))
    return False
