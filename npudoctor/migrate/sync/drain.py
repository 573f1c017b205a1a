"""Scalar reads collected in a loop and used after it: proof, and the edits that defer them.

`xs.append(E.item())` keeps the detached tensor instead, and one
`torch.stack(xs).tolist()` after the loop yields the very numbers: stacking tensors of one
dtype class and reading them back is exact, in the same order. A running sum collects its
terms the same way and adds them on the host in the same order (never on the device, where
the sum would round differently, and never by `sum()`, which compensates on Python 3.12).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import LOOPS, Heat, LoopNode, Loops
from npudoctor.migrate.names import FUNCTIONS, Scope
from npudoctor.migrate.sync import hazards, targets, terms
from npudoctor.migrate.sync.certain import is_never_a_number
from npudoctor.migrate.sync.host import origins
from npudoctor.migrate.sync.sites import LIST, Site, root_of, sites
from npudoctor.migrate.sync.terms import Term
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
MAYBE_NUMBER = Text(
    "`{value}` may be a Python number in some passes, which float() takes as well",
    "`{value}` 在某些循环中可能是 Python 数值，float() 同样接受",
)
DTYPE = Text("it is not proved that all values have one dtype class", "无法证明所有值的 dtype 类别相同")
NOT_NUMBER = Text(
    "it is not proved that all of `{term}` beside the read is made of host numbers, in the same way in each "
    "pass",
    "无法证明 `{term}` 中除该读取外全是主机数值，且每次循环的形式相同",
)
ANNOTATED = Text(
    "`{name}` is annotated, and tensors would not fit the annotation",
    "`{name}` 带有类型标注，张量不符合该标注",
)


@dataclass(frozen=True)
class Drain:
    """All sites of one list or sum in one loop.

    Attributes:
        name: the list or accumulator, as text.
        loop: the loop after which the values are read; its block also holds the initialisation.
        kind: `list`, or the operator of the running sum.
        term: what each pass adds, for a proved sum.
        refusal: why nothing may be moved, None when the proof holds.
        params: values for the refusal's text.
    """

    name: str
    loop: LoopNode | None
    sites: tuple[Site, ...]
    kind: str
    term: Term | None
    refusal: Text | None
    params: dict[str, object]

    @property
    def is_sum(self) -> bool:
        """A running sum, not a list."""
        return self.kind != LIST

    @property
    def assumes(self) -> bool:
        """Whether the proof rests on an assumption about code elsewhere: an attribute of `self`."""
        return self.sites[0].form == "attribute"


class Drains:
    """Every drain of one module."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values

    def find(self) -> list[Drain]:
        """Drains in source order."""
        groups: dict[tuple[int, str, int, str], list[Site]] = {}
        homes: dict[tuple[int, str, int, str], LoopNode | None] = {}
        for site in sites(self._ctx, self._loops):
            loop = self._region(site)
            key = (id(loop), site.name, id(self._ctx.scope(site.root)), site.kind)
            groups.setdefault(key, []).append(site)
            homes[key] = loop
        found = [self._judge(homes[key], tuple(group)) for key, group in groups.items()]
        return sorted(found, key=lambda d: self._ctx.span(d.sites[0].read.node))

    # -- where it starts -----------------------------------------------------------------

    def _region(self, site: Site) -> LoopNode | None:
        """The innermost loop around the site that the initialisation stands before."""
        outermost: LoopNode | None = None
        for above in self._ctx.ancestors(site.statement):
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(above, LOOPS):
                outermost = above
                if site.form != "attribute" and self._initialised(above, site) is not None:
                    return above
        if site.form == "attribute" and outermost is not None:
            stores = self._values.stores.get(site.target.attr, ())  # type: ignore[attr-defined]
            return outermost if targets.attribute_start(self._ctx, site, stores) else None
        return None

    def _initialised(self, loop: LoopNode, site: Site) -> Binding | None:
        """The last binding of the name in the block of `loop`, before it, if it starts empty."""
        scope = self._ctx.scope(site.root)
        block = self._ctx.block(loop)
        before = block[: block.index(loop)]
        if site.form == "entry":
            made = targets.entry_start(self._ctx, before, site)
            return made if made is not None and targets.is_plain_dict(self._ctx, made.value) else None
        for statement in reversed(before):
            here = [b for b in scope.bindings.get(site.root.id, ()) if b.node is statement]
            if here:
                return here[0] if len(here) == 1 and _starts_empty(here[0], site.is_sum) else None
            if any(n.id == site.root.id for n in self._ctx.within(statement, ast.Name)):
                return None
        return None

    # -- judging -------------------------------------------------------------------------

    def _judge(self, loop: LoopNode | None, group: tuple[Site, ...]) -> Drain:
        first = group[0]
        value = self._ctx.text(first.read.value)[:60]
        atom = isinstance(first.read.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        params: dict[str, object] = {"name": first.name, "value": value, "sign": first.kind}
        params["tensor"] = value if atom else f"({value})"
        term: Term | None = None
        refusal: Text | None = NOT_LOCAL
        if loop is not None:
            term = self._term(loop, group)
            refusal = NOT_NUMBER if term is None else self._refusal(loop, group)
            if term is None:
                params["term"] = self._ctx.text(first.whole)[:60]
        return Drain(first.name, loop, group, first.kind, term, refusal, params)

    def _term(self, loop: LoopNode, group: tuple[Site, ...]) -> Term | None:
        """What each pass adds; None if it holds more than host numbers or is not always the same."""
        found = [terms.analysed(self._ctx, self._values, s.whole, s.whole, loop) for s in group if s.via]
        for site in group:
            if site.via is None:
                found.append(terms.analysed(self._ctx, self._values, site.whole, site.read.node, loop))
        first = found[0]
        if first is None or any(t is None or (len(group) > 1 and not t.plain) for t in found):
            return None
        return first

    def _refusal(self, loop: LoopNode, group: tuple[Site, ...]) -> Text | None:
        ctx, scope, first = self._ctx, self._ctx.scope(group[0].root), group[0]
        name = first.root.id
        if isinstance(scope.node, ast.ClassDef):
            return NOT_LOCAL
        if first.form == "attribute":
            return self._value_refusal(group) or self._attribute_refusal(loop, group)
        if name in scope.outer or self._declared_elsewhere(scope, name):
            return hazards.CLOSURE
        binding = self._initialised(loop, first)
        if binding is not None and self._typed(binding.node):
            return ANNOTATED
        if binding is not None and hazards.other_cell(ctx, binding.node, loop):
            return hazards.CELLS
        uses = ctx.uses(name, scope)
        return (
            self._value_refusal(group)
            or self._use_refusal(loop, group, uses, scope)
            or self._place_refusal(loop, group, scope)
            or hazards.of_surroundings(ctx, loop, uses)
        )

    def _attribute_refusal(self, loop: LoopNode, group: tuple[Site, ...]) -> Text | None:
        ctx = self._ctx
        if len(group) > 1 or targets.attribute_seen(ctx, loop, group[0]):
            return targets.SEEN
        if targets.leaves(loop) or hazards.in_try(ctx, loop):
            return hazards.GUARDED
        return self._place_refusal(loop, group, ctx.scope(group[0].root))

    def _place_refusal(self, loop: LoopNode, group: tuple[Site, ...], scope: Scope) -> Text | None:
        ctx = self._ctx
        for site in group:
            for place in (site.statement, site.read.node):
                region = hazards.of_region(ctx, loop, place)
                if region is not None:
                    return region
        if hazards.torch_name(ctx, loop) is None:
            return hazards.NO_TORCH_NAME
        return self._too_long(loop) or hazards.of_function(ctx, scope, loop)

    def _typed(self, node: ast.AST) -> bool:
        """Whether the list has a type, by annotation or by a comment."""
        start, end = self._ctx.line_span(getattr(node, "lineno", 1))
        comment = self._ctx.source[start:end].partition("# type:")[2].strip()
        return isinstance(node, ast.AnnAssign) or (comment != "" and not comment.startswith("ignore"))

    def _declared_elsewhere(self, scope: Scope, name: str) -> bool:
        return any(
            name in other.outer and other.find(name) is scope for other in self._ctx.names.scopes.values()
        )

    def _value_refusal(self, group: tuple[Site, ...]) -> Text | None:
        values = [self.value_of(site) for site in group]
        if not all(v.tensor for v in values):
            return NOT_TENSOR
        if not all(is_never_a_number(self._ctx, self._values, s.read) for s in group):
            return MAYBE_NUMBER
        classes = {v.dtype for v in values}
        if len(classes) != 1 or "" in classes or self._values.odd_types:
            return DTYPE
        if any(s.read.form == "float" for s in group) and classes != {"float"}:
            return DTYPE  # float() of an integer tensor makes a float, tolist() an int
        if len(set().union(*(origins(self._ctx, s.read.value) for s in group))) > 1:
            return hazards.HOST_VALUES  # torch.stack() takes tensors of one device
        return None

    def value_of(self, site: Site) -> Value:
        """What is known of the tensor read at `site`."""
        return self._values.of(site.read.value)

    def _use_refusal(
        self, loop: LoopNode, group: tuple[Site, ...], uses: list[ast.Name], scope: Scope
    ) -> Text | None:
        """Any other use of the name inside the loop, or one that could run at another time."""
        first = group[0]
        own = {id(s.root) for s in group}
        own |= {id(root_of(s.statement.value.left)) for s in group if _reassigned(s)}  # type: ignore[attr-defined]
        ctx = self._ctx
        for use in uses:
            if id(use) in own:
                continue
            if _deferred(ctx, use, scope):
                return hazards.CLOSURE
            if first.form == "entry":
                harmless = targets.other_entry(ctx, use, first)
            else:
                harmless = _is_length(ctx, use) or (first.is_sum and _asks_for_none(ctx, use))
            if ctx.inside(use, loop) and not harmless:
                return READ_INSIDE
        collecting = {id(s.statement) for s in group}
        for binding in scope.bindings.get(first.root.id, ()):
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


def _starts_empty(binding: Binding, is_sum: bool) -> bool:
    if binding.kind != "assign" or not targets.starts(binding.value, is_sum):
        return False
    return is_sum or not isinstance(binding.node, ast.Assign) or len(binding.node.targets) == 1


def _reassigned(site: Site) -> bool:
    return site.is_sum and isinstance(site.statement, ast.Assign)


def _asks_for_none(ctx: ModuleContext, use: ast.Name) -> bool:
    """`total is not None`: a sum that is not None stays so."""
    above = ctx.parent(use)
    if not isinstance(above, ast.Compare) or above.left is not use or len(above.ops) != 1:
        return False
    return isinstance(above.ops[0], (ast.Is, ast.IsNot)) and targets.is_none(above.comparators[0])


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
