"""Where a scalar read goes into a list or a running sum: the forms, nothing proved yet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.loops import Heat, Loops
from npudoctor.migrate.sync.forms import ScalarRead, scalar_reads
from npudoctor.migrate.sync.terms import term_of

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

LIST, ADD, SUBTRACT = "list", "+=", "-="


@dataclass(frozen=True)
class Site:
    """One place where a scalar read goes into a collection or a sum.

    Attributes:
        read: the scalar read.
        target: the list or accumulator at this place: a variable, `self.x` or `stats["key"]`.
        statement: the statement that collects.
        kind: `list`, or the operator of a running sum (`+=`, `-=`).
        whole: what is collected or added: the read, or host arithmetic around it.
        via: the variable between read and collection (`v = E.item()` ... `xs.append(v)`), if any.
    """

    read: ScalarRead
    target: ast.expr
    statement: ast.stmt
    kind: str
    whole: ast.expr
    via: ast.Assign | None = None

    @property
    def is_sum(self) -> bool:
        """A running sum, not a list."""
        return self.kind != LIST

    @property
    def name(self) -> str:
        """The target as text."""
        return ast.unparse(self.target).replace("'", '"')

    @property
    def root(self) -> ast.Name:
        """The variable that holds the target, or is it."""
        node = root_of(self.target)
        assert isinstance(node, ast.Name)
        return node

    @property
    def form(self) -> str:
        """`variable`, `attribute` or `entry`."""
        forms = {ast.Attribute: "attribute", ast.Subscript: "entry"}
        return forms.get(type(self.target), "variable")


def root_of(node: ast.expr) -> ast.expr:
    """What the attributes and entries of `node` are asked of: `x` of `x.a["b"]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def sites(ctx: ModuleContext, loops: Loops) -> Iterator[Site]:
    """Every site of one module that stands in a loop of its own function."""
    for node, read in scalar_reads(ctx).items():
        if read.form in ("int", "bool") or loops.lexical(node) is Heat.ONCE:
            continue
        above = ctx.parent(node)
        site = _direct(ctx, read, node)
        if site is not None:
            yield site
        elif isinstance(above, ast.Assign) and above.value is node:
            yield from _indirect(ctx, read, above)


def _direct(ctx: ModuleContext, read: ScalarRead, node: ast.expr) -> Site | None:
    statement = ctx.statement(node)
    whole = term_of(ctx, node)
    target = appended_to(statement, whole)
    if target is not None:
        return Site(read, target, statement, LIST, whole)
    if isinstance(statement, ast.AugAssign) and statement.value is whole and is_target(statement.target):
        kind = {ast.Add: ADD, ast.Sub: SUBTRACT}.get(type(statement.op))
        return Site(read, statement.target, statement, kind, whole) if kind else None
    return _reassigned(ctx, read, node, statement)


def _reassigned(ctx: ModuleContext, read: ScalarRead, node: ast.expr, statement: ast.stmt) -> Site | None:
    """`acc = acc + E.item()`; the term is what stands right of the first operator from the left."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not (isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) and is_target(target)):
        return None
    if ast.unparse(target) != ast.unparse(value.left) or not ctx.inside(node, value.right):
        return None
    kind = ADD if isinstance(value.op, ast.Add) else SUBTRACT
    whole = value.right
    inside = term_of(ctx, node) is value  # nothing but arithmetic between the read and the sum
    return Site(read, target, statement, kind, whole) if inside else None


def _indirect(ctx: ModuleContext, read: ScalarRead, assign: ast.Assign) -> Iterator[Site]:
    """`v = E.item()` whose every use is `xs.append(v)`."""
    name = assign.targets[0]
    if len(assign.targets) != 1 or not isinstance(name, ast.Name):
        return
    scope = ctx.scope(name).find(name.id)
    if scope is None or len(scope.bindings[name.id]) != 1:
        return
    uses = ctx.uses(name.id, scope)
    if len(uses) != 1 or ctx.scope(uses[0]) is not scope:
        return
    statement = ctx.statement(uses[0])
    target = appended_to(statement, uses[0])
    body = getattr(ctx.parent(assign), "body", [])
    if target is not None and assign in body and statement in body[body.index(assign) :]:
        yield Site(read, target, statement, LIST, uses[0], via=assign)


def appended_to(statement: ast.stmt, node: ast.expr) -> ast.expr | None:
    """The list that `statement` adds `node` to: `xs.append(n)`, `xs += [n]`, `xs.extend([n])`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        listed = isinstance(statement.value, ast.List) and statement.value.elts == [node]
        return statement.target if listed and is_target(statement.target) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return None
    func = call.func
    if not isinstance(func, ast.Attribute) or not is_target(func.value):
        return None
    if func.attr == "append":
        return func.value if call.args[0] is node else None
    if func.attr == "extend" and isinstance(call.args[0], (ast.List, ast.Tuple)):
        return func.value if call.args[0].elts == [node] else None
    return None


def is_target(node: ast.expr) -> bool:
    """A variable, an attribute of `self`, or an entry of a dictionary with a constant text as key."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "self"
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and is_text(node.slice)
    return isinstance(node, ast.Name)


def is_text(node: ast.expr) -> bool:
    """Whether `node` is a string literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
