"""Scalar reads collected in a loop and used after it: proof, and the edits that defer them.

`xs.append(E.item())` keeps the detached tensor instead, and one
`torch.stack(xs).tolist()` after the loop yields the very numbers: stacking tensors of one
dtype class and reading them back is exact, in the same order. A running sum collects its
terms the same way and adds them on the host in the same order (never on the device, where
the sum would round differently, and never by `sum()`, which compensates on Python 3.12).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import LOOPS, Heat, LoopNode, Loops
from npudoctor.migrate.names import FUNCTIONS, Scope
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.forms import ScalarRead, scalar_reads
from npudoctor.migrate.sync.host import origins
from npudoctor.migrate.sync.values import Value, Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding

NOT_LOCAL = Text(
    "the values do not go into a local variable that starts empty before the loop",
    "这些值没有存入循环前刚初始化的局部变量",
)
READ_INSIDE = Text("the loop also reads or changes `{name}`", "循环内还读取或修改了 `{name}`")
NOT_TENSOR = Text("it is not proved that `{value}` is a tensor", "无法证明 `{value}` 是张量")
DTYPE = Text("it is not proved that all values have one dtype class", "无法证明所有值的 dtype 类别相同")
MIXED = Text("other values than scalar reads are collected too", "还收集了标量读取以外的值")
ANNOTATED = Text(
    "`{name}` is annotated, and tensors would not fit the annotation",
    "`{name}` 带有类型标注，张量不符合该标注",
)


@dataclass(frozen=True)
class Site:
    """One place where a scalar read goes into a collection or a sum.

    Attributes:
        read: the scalar read.
        target: the name node of the list or accumulator at this place.
        statement: the statement that collects.
        via: the variable between read and collection (`v = E.item()` ... `xs.append(v)`), if any.
        is_sum: a running sum, not a list.
    """

    read: ScalarRead
    target: ast.Name
    statement: ast.stmt
    via: ast.Assign | None = None
    is_sum: bool = False


@dataclass(frozen=True)
class Drain:
    """All sites of one name in one loop.

    Attributes:
        name: the list or accumulator.
        loop: the loop after which the values are read; its block also holds the initialisation.
        refusal: why nothing may be moved, None when the proof holds.
        params: values for the refusal's text.
    """

    name: str
    loop: LoopNode | None
    sites: tuple[Site, ...]
    is_sum: bool
    refusal: Text | None
    params: dict[str, object]


class Drains:
    """Every drain of one module."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values

    def find(self) -> list[Drain]:
        """Drains in source order."""
        groups: dict[tuple[int, str, int, bool], list[Site]] = {}
        homes: dict[tuple[int, str, int, bool], LoopNode | None] = {}
        for site in self._sites():
            loop = self._region(site)
            key = (id(loop), site.target.id, id(self._ctx.scope(site.target)), site.is_sum)
            groups.setdefault(key, []).append(site)
            homes[key] = loop
        found = [self._judge(homes[key], tuple(sites)) for key, sites in groups.items()]
        return sorted(found, key=lambda d: self._ctx.span(d.sites[0].read.node))

    # -- recognising ---------------------------------------------------------------------

    def _sites(self) -> Iterator[Site]:
        for node, read in scalar_reads(self._ctx).items():
            if read.form in ("int", "bool") or self._loops.lexical(node) is Heat.ONCE:
                continue
            above = self._ctx.parent(node)
            site = self._direct(read, node, above)
            if site is not None:
                yield site
            elif isinstance(above, ast.Assign) and above.value is node:
                yield from self._indirect(read, above)

    def _direct(self, read: ScalarRead, node: ast.expr, above: ast.AST | None) -> Site | None:
        statement = self._ctx.statement(node)
        target = _appended_to(statement, node)
        if target is not None:
            return Site(read, target, statement)
        adds = isinstance(above, ast.AugAssign) and isinstance(above.op, ast.Add) and above.value is node
        if adds and isinstance(above, ast.AugAssign) and isinstance(above.target, ast.Name):
            return Site(read, above.target, above, is_sum=True)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add) and above.right is node:
            outer = self._ctx.parent(above)
            if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(above.left, ast.Name):
                name = outer.targets[0]
                if isinstance(name, ast.Name) and name.id == above.left.id and outer.value is above:
                    return Site(read, name, outer, is_sum=True)
        return None

    def _indirect(self, read: ScalarRead, assign: ast.Assign) -> Iterator[Site]:
        """`v = E.item()` whose every use is `xs.append(v)`."""
        name = assign.targets[0]
        if len(assign.targets) != 1 or not isinstance(name, ast.Name):
            return
        scope = self._ctx.scope(name).find(name.id)
        if scope is None or len(scope.bindings[name.id]) != 1:
            return
        uses = self._ctx.uses(name.id, scope)
        if len(uses) != 1 or self._ctx.scope(uses[0]) is not scope:
            return
        statement = self._ctx.statement(uses[0])
        target = _appended_to(statement, uses[0])
        body = getattr(self._ctx.parent(assign), "body", [])
        if target is not None and assign in body and statement in body[body.index(assign) :]:
            yield Site(read, target, statement, via=assign)

    def _region(self, site: Site) -> LoopNode | None:
        """The innermost loop around the site that the initialisation stands directly before."""
        for above in self._ctx.ancestors(site.statement):
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                return None
            if isinstance(above, LOOPS) and self._initialised(above, site) is not None:
                return above
        return None

    def _initialised(self, loop: LoopNode, site: Site) -> Binding | None:
        """The last binding of the name in the block of `loop`, before it, if it starts empty."""
        scope = self._ctx.scope(site.target)
        block = _block_of(self._ctx.parent(loop), loop)
        before = block[: block.index(loop)]
        for statement in reversed(before):
            here = [b for b in scope.bindings.get(site.target.id, ()) if b.node is statement]
            if here:
                return here[0] if len(here) == 1 and _starts_empty(here[0], site.is_sum) else None
            if any(n.id == site.target.id for n in self._ctx.within(statement, ast.Name)):
                return None
        return None

    # -- judging -------------------------------------------------------------------------

    def _judge(self, loop: LoopNode | None, sites: tuple[Site, ...]) -> Drain:
        name = sites[0].target.id
        params: dict[str, object] = {"name": name, "value": self._ctx.text(sites[0].read.value)[:60]}
        refusal = NOT_LOCAL if loop is None else self._refusal(loop, sites)
        return Drain(name, loop, sites, sites[0].is_sum, refusal, params)

    def _refusal(self, loop: LoopNode, sites: tuple[Site, ...]) -> Text | None:
        ctx, scope = self._ctx, self._ctx.scope(sites[0].target)
        if isinstance(scope.node, ast.ClassDef):
            return NOT_LOCAL
        name = sites[0].target.id
        if name in scope.outer or self._declared_elsewhere(scope, name):
            return hazards.CLOSURE
        binding = self._initialised(loop, sites[0])
        if binding is not None and self._typed(binding.node):
            return ANNOTATED
        if binding is not None and hazards.other_cell(ctx, binding.node, loop):
            return hazards.CELLS
        uses = ctx.uses(name, scope)
        found = self._value_refusal(sites) or self._use_refusal(loop, sites, uses, scope)
        if found is not None:
            return found
        for site in sites:
            for place in (site.statement, site.read.node):
                region = hazards.of_region(ctx, loop, place)
                if region is not None:
                    return region
        if hazards.torch_name(ctx, loop) is None:
            return hazards.NO_TORCH_NAME
        return (
            self._too_long(loop)
            or hazards.of_surroundings(ctx, loop, uses)
            or hazards.of_function(ctx, scope, loop)
        )

    def _typed(self, node: ast.AST) -> bool:
        """Whether the list has a type, by annotation or by a comment."""
        start, end = self._ctx.line_span(getattr(node, "lineno", 1))
        comment = self._ctx.source[start:end].partition("# type:")[2].strip()
        return isinstance(node, ast.AnnAssign) or (comment != "" and not comment.startswith("ignore"))

    def _declared_elsewhere(self, scope: Scope, name: str) -> bool:
        return any(
            name in other.outer and other.find(name) is scope for other in self._ctx.names.scopes.values()
        )

    def _value_refusal(self, sites: tuple[Site, ...]) -> Text | None:
        values = [self.value_of(site) for site in sites]
        if not all(v.tensor for v in values):
            return NOT_TENSOR
        classes = {v.dtype for v in values}
        if len(classes) != 1 or "" in classes or self._values.odd_types:
            return DTYPE
        if any(s.read.form == "float" for s in sites) and classes != {"float"}:
            return DTYPE  # float() of an integer tensor makes a float, tolist() an int
        if len(set().union(*(origins(self._ctx, s.read.value) for s in sites))) > 1:
            return hazards.DEVICES  # torch.stack() takes tensors of one device
        return None

    def value_of(self, site: Site) -> Value:
        """What is known of the tensor read at `site`."""
        return self._values.of(site.read.value)

    def _use_refusal(
        self, loop: LoopNode, sites: tuple[Site, ...], uses: list[ast.Name], scope: Scope
    ) -> Text | None:
        """Any other use of the name inside the loop, or one that could run at another time."""
        own = {id(s.target) for s in sites}
        own |= {id(s.statement.value.left) for s in sites if _plain_sum(s)}  # type: ignore[attr-defined]
        ctx = self._ctx
        for use in uses:
            if id(use) in own:
                continue
            if _deferred(ctx, use, scope):
                return hazards.CLOSURE
            if ctx.inside(use, loop) and not _is_length(ctx, use):
                return READ_INSIDE
        collecting = {id(s.statement) for s in sites}
        for binding in scope.bindings.get(sites[0].target.id, ()):
            if ctx.inside(binding.node, loop) and id(binding.node) not in collecting:
                return READ_INSIDE
        return None

    def _too_long(self, loop: LoopNode) -> Text | None:
        """Device scalars may pile up over one update, not over a whole training."""
        if not self._loops.steps_inside(loop):
            return None
        steps = [n for n in self._ctx.within(loop, *LOOPS) if self._loops.kind(n) is Heat.STEP]
        if steps != [loop]:
            return hazards.WHOLE_TRAINING
        inner = self._ctx.enclosing_loop(loop) is not None
        function = self._ctx.enclosing_function(loop)
        called = function is not None and self._loops.function_heat.get(function, Heat.ONCE) is not Heat.ONCE
        return None if inner or called else hazards.WHOLE_TRAINING


def _appended_to(statement: ast.stmt, node: ast.expr) -> ast.Name | None:
    """The list that `statement` adds `node` to: `xs.append(n)`, `xs += [n]`, `xs.extend([n])`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        listed = isinstance(statement.value, ast.List) and statement.value.elts == [node]
        return statement.target if listed and isinstance(statement.target, ast.Name) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return None
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    if func.attr == "append":
        return func.value if call.args[0] is node else None
    if func.attr == "extend" and isinstance(call.args[0], (ast.List, ast.Tuple)):
        return func.value if call.args[0].elts == [node] else None
    return None


def _starts_empty(binding: Binding, is_sum: bool) -> bool:
    value = binding.value
    if binding.kind != "assign" or value is None:
        return False
    if is_sum:
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)
    alone = not isinstance(binding.node, ast.Assign) or len(binding.node.targets) == 1
    return alone and isinstance(value, ast.List) and not value.elts


def _block_of(parent: ast.AST | None, statement: ast.stmt) -> list[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]  # a handler or a match case: nothing stands before it that we know of


def _plain_sum(site: Site) -> bool:
    return site.is_sum and isinstance(site.statement, ast.Assign)


def _is_length(ctx: ModuleContext, use: ast.Name) -> bool:
    call = ctx.parent(use)
    return isinstance(call, ast.Call) and call.args == [use] and ctx.called_name(call) == "builtins.len"


def _deferred(ctx: ModuleContext, use: ast.Name, scope: Scope) -> bool:
    """Whether `use` sits in code that may run later: a nested function, lambda or generator."""
    inner: Scope | None = ctx.scope(use)
    while inner is not None and inner is not scope:
        if isinstance(inner.node, (*FUNCTIONS, ast.GeneratorExp)):
            return not _consumed_at_once(ctx, inner.node)
        inner = inner.parent
    return _iterated_lazily(ctx, use)


def _iterated_lazily(ctx: ModuleContext, use: ast.Name) -> bool:
    above = ctx.parent(use)
    if isinstance(above, ast.comprehension):
        owner = ctx.parent(above)
        return isinstance(owner, ast.GeneratorExp) and not _consumed_at_once(ctx, owner)
    return False


def _consumed_at_once(ctx: ModuleContext, node: ast.AST) -> bool:
    call = ctx.parent(node)
    if not isinstance(node, ast.GeneratorExp) or not isinstance(call, ast.Call):
        return False
    name = ctx.called_name(call) or ""
    return name in {f"builtins.{n}" for n in ("sum", "max", "min", "any", "all", "list", "tuple", "sorted")}
