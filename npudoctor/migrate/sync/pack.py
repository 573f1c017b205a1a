"""Several copies to the host in a row: which can share one transfer.

The packed form is a function that groups by dtype at run time and gives each tensor its own
memory back, so neither dtypes nor shapes nor layouts need a proof. What is proved is the
order: between the place of the joint transfer and each copy, nothing may change the tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import Heat, Loops
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.alias import needs_clone
from npudoctor.migrate.sync.forms import copies_to_host, indent_of, runs_once
from npudoctor.migrate.sync.host import origins
from npudoctor.migrate.sync.quiet import Quiet
from npudoctor.migrate.sync.values import Values
from npudoctor.migrate.torchnames import runs_as_torch

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

BETWEEN = Text(
    "other code runs between the copies and could change the tensors, so they are not joined automatically",
    "各次拷贝之间有其他代码运行，可能修改这些张量，因此不自动合并",
)
TENSORS = Text(
    "the copies stay tensors (no .numpy() or .tolist() follows), or are not certain to be made each time, so "
    "they are not joined automatically",
    "拷贝结果仍为张量（其后没有 .numpy() 或 .tolist()），或不一定每次都执行，因此不自动合并",
)
DTYPES = Text(
    "the tensors have different dtypes, and a joint transfer would have to convert one of them",
    "这些张量的 dtype 不同，合并传输需要转换其中之一",
)
NAMES = Text(
    "the function looks at its own variables (locals() or the like) and would see the added ones, so the "
    "copies are not joined automatically",
    "该函数会查看自身的变量（locals() 等），会看到新增的变量，因此不自动合并",
)
# Between a copy and its statement: it is made for certain, and exactly once.
_CERTAIN = (
    ast.Call,
    ast.keyword,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.Attribute,
    ast.Subscript,
)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
# Parts of a statement that run other code, or bind names, in the middle of it.
_ELSEWHERE = (
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.NamedExpr,
    ast.Starred,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_ENDS = ("numpy", "tolist")
# Of an array; where the device is the host after all, they would write to the tensor.
_IN_PLACE = frozenset({"sort", "fill", "partition", "put", "itemset", "resize", "byteswap", "setflags"})


@dataclass(frozen=True)
class HostCopy:
    """`X.cpu()` or `X.to("cpu")` on the way to NumPy or to a list.

    Attributes:
        node: the call, with a `.detach()` or `.data` that follows it; it is replaced.
        tensor: `X`.
        detached: whether `.detach()` or `.data` followed.
        tail: calls of the chain around `node`.
    """

    node: ast.expr
    tensor: ast.expr
    detached: bool
    tail: tuple[ast.AST, ...]

    @property
    def name(self) -> str:
        """What a person would call the tensor."""
        node: ast.AST = self.tensor
        while isinstance(node, (ast.Call, ast.Subscript)) or (
            isinstance(node, ast.Attribute) and node.attr in ("data", "T")
        ):
            inner = node.func if isinstance(node, ast.Call) else node.value
            calls_method = isinstance(node, ast.Call) and isinstance(inner, ast.Attribute)
            node = inner.value if calls_method and isinstance(inner, ast.Attribute) else inner
        found = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        return found.strip("_") or "tensor"


@dataclass(frozen=True)
class Pack:
    """Copies of consecutive statements that share one transfer, placed before `first`."""

    first: ast.stmt
    copies: tuple[HostCopy, ...]
    saved: int


@dataclass
class _Open:
    """A run that is being collected."""

    first: ast.stmt
    copies: list[HostCopy] = field(default_factory=list)
    disturbed: bool = False
    rebound: set[str] = field(default_factory=set)
    appended: bool = False


class Packs:
    """Every pack of one module."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values
        self._quiet = Quiet(ctx, values)

    def find(self) -> list[Pack]:
        """Packs in source order, those in hot places only."""
        if self._values.rivals or self._values.odd_types:
            return []
        by_statement: dict[ast.stmt, list[HostCopy]] = {}
        for node in self._ctx.nodes(ast.Call):
            copy = self._host_copy(node)
            if copy is not None and self._fits(copy):
                by_statement.setdefault(self._ctx.statement(node), []).append(copy)
        found: list[Pack] = []
        seen: set[int] = set()
        for statement in by_statement:
            block = self._ctx.block(statement)
            if id(block) not in seen:
                seen.add(id(block))
                found += self._in_block(block, by_statement)
        return sorted(found, key=lambda pack: self._ctx.span(pack.first))

    # -- recognising ---------------------------------------------------------------------

    def _host_copy(self, call: ast.Call) -> HostCopy | None:
        """`call` as a copy that goes on to NumPy or to a list, or None."""
        func = call.func
        if not isinstance(func, ast.Attribute) or not copies_to_host(call):
            return None
        if self._ctx.qualified_name(func) is not None:
            return None
        # A PackedSequence has `.cpu().data` too, but cannot be detached.
        known = self._values.of(func.value).tensor
        if func.attr in self._quiet.methods and not known:
            return None
        node, detached = _with_detach(self._ctx, call, known)
        tail = tuple(self._tail(node))
        ends = any(isinstance(t, ast.Attribute) and t.attr in _ENDS for t in tail)
        return HostCopy(node, func.value, detached, tail) if ends else None

    def _tail(self, node: ast.AST) -> list[ast.AST]:
        """Attributes and calls of the chain that goes on from `node`, as far as they are quiet."""
        found: list[ast.AST] = []
        above = self._ctx.parent(node)
        while isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node):
            if isinstance(above, ast.Call):
                extra = [*above.args, *(k.value for k in above.keywords)]
                if not all(self._quiet.expression(part) for part in extra):
                    break
            if isinstance(above, ast.Attribute) and above.attr in _IN_PLACE:
                break
            found.append(above)
            node, above = above, self._ctx.parent(above)
        return found

    def _fits(self, copy: HostCopy) -> bool:
        node, ctx = copy.node, self._ctx
        if not self._quiet.tensor(copy.tensor) or origins(ctx, copy.tensor) == {True}:
            return False
        hot = self._loops.paced(node) in (Heat.STEP, Heat.MINIBATCH)
        return hot and runs_once(ctx, node, _CERTAIN, _SIMPLE)

    def _in_block(self, block: list[ast.stmt], copies: dict[ast.stmt, list[HostCopy]]) -> list[Pack]:
        runs: list[_Open] = []
        current: _Open | None = None
        for statement in block:
            if not isinstance(statement, _SIMPLE) or self._ctx.within(statement, *_ELSEWHERE):
                current = None
                continue
            own = sorted(copies.get(statement, ()), key=lambda c: self._ctx.span(c.node))
            for copy in own:
                if current is None or not self._joins(current, copy, statement):
                    current = _Open(statement)
                    runs.append(current)
                    if not self._joins(current, copy, statement):
                        current = None  # code before it in its own statement may change the tensor
                        continue
                current.copies.append(copy)
            if current is not None:
                self._pass(current, statement, own)
        return [pack for run in runs for pack in self._closed(run)]

    def _joins(self, run: _Open, copy: HostCopy, statement: ast.stmt) -> bool:
        """Whether the tensor is the same at the start of `run` as where `copy` stands now."""
        if run.rebound.intersection(n.id for n in self._ctx.within(copy.tensor, ast.Name)):
            return False
        grown = run.appended or not self._appends(statement) <= set(self._ctx.ancestors(copy.node))
        if grown and self._may_look_at_list(copy.tensor):
            return False
        start = self._ctx.span(copy.node)[0]
        ours = self._calls_of([copy, *run.copies]) | set(self._ctx.ancestors(copy.node))
        loud = (c for c in self._quiet.loud(statement, ours) if self._ctx.span(c)[0] < start)
        augmented = isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name)
        if not run.disturbed and not augmented and not any(True for _ in loud):
            return True
        plain = isinstance(copy.tensor, ast.Name) and self._values.of(copy.tensor).tensor
        return plain and not needs_clone(self._ctx, self._values, copy.tensor)

    def _calls_of(self, copies: Sequence[HostCopy]) -> set[ast.AST]:
        """The calls that make the copies, and those that their chains go on with."""
        return {n for copy in copies for n in (*self._ctx.within(copy.node, ast.Call), *copy.tail)}

    def _may_look_at_list(self, tensor: ast.expr) -> bool:
        """`h[-1]`, `x[len(h)]`, `torch.stack(h)`; a tensor's own method with literals alone does not."""
        for call in self._ctx.within(tensor, ast.Call):
            own = isinstance(call.func, ast.Attribute) and self._ctx.qualified_name(call.func) is None
            given = [*call.args, *(k.value for k in call.keywords)]
            if not own or not all(isinstance(value, ast.Constant) for value in given):
                return True
        return bool(self._ctx.within(tensor, ast.Subscript))

    def _pass(self, run: _Open, statement: ast.stmt, own: list[HostCopy]) -> None:
        """What `statement` may change for copies that follow it."""
        loud = any(True for _ in self._quiet.loud(statement, self._calls_of(own)))
        run.appended = run.appended or bool(self._appends(statement))
        run.disturbed = run.disturbed or loud or self._quiet.writes_elsewhere(statement)
        names = self._ctx.within(statement, ast.Name)
        run.rebound |= {n.id for n in names if not isinstance(n.ctx, ast.Load)}

    def _appends(self, statement: ast.stmt) -> set[ast.AST]:
        """Calls that make a list or a deque longer."""
        calls = self._ctx.within(statement, ast.Call)
        return {c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "extend")}

    def _closed(self, run: _Open) -> list[Pack]:
        saved, owner = self._saved(run.copies), self._ctx.scope(run.first).node
        unclear = (
            saved < 1
            or indent_of(self._ctx, run.first) is None
            or isinstance(owner, ast.ClassDef)
            or hazards.other_cell(self._ctx, run.first, run.copies[-1].node)
            or hazard(self._ctx, run.first) is not None
        )
        return [] if unclear else [Pack(run.first, tuple(run.copies), saved)]

    def _saved(self, copies: list[HostCopy]) -> int:
        """Transfers that go for certain if the dtypes that are not known agree with one that is."""
        classes = {self._values.of(copy.tensor).dtype for copy in copies} - {""}
        return len(copies) - max(1, len(classes))


def hazard(ctx: ModuleContext, place: ast.stmt) -> Text | None:
    """What speaks against a pack at `place`, whatever is copied there, or None."""
    owner = ctx.scope(place).node
    if torch_at_top(ctx) is None:
        return hazards.NO_TORCH_NAME
    if hazards.sees_names(ctx, owner):
        return NAMES
    return hazards.GUARDED if hazards.in_try(ctx, place) else hazards.of_order(ctx, owner, place)


def _with_detach(ctx: ModuleContext, node: ast.expr, tensor: bool) -> tuple[ast.expr, bool]:
    """`node` with the `.detach()` that follows it, or for a known `tensor` the `.data`."""
    above = ctx.parent(node)
    if isinstance(above, ast.Attribute) and above.attr == "data" and tensor:
        return above, True
    call = ctx.parent(above) if isinstance(above, ast.Attribute) and above.attr == "detach" else None
    if isinstance(call, ast.Call) and call.func is above and not call.args and not call.keywords:
        return call, True
    return node, False


def torch_at_top(ctx: ModuleContext) -> str | None:
    """The name of the module `torch` in the module's own scope, where the added function uses it."""
    for name, bindings in ctx.names.root.bindings.items():
        if runs_as_torch(ctx, bindings):
            return name
    return None


def new_names(ctx: ModuleContext, pack: Pack) -> list[str]:
    """A name that the module does not know yet for each copy: `action_host`."""
    found: list[str] = []
    for copy in pack.copies:
        name, number = f"{copy.name}_host", 2
        while name in found or re.search(rf"\b{name}\b", ctx.source):
            name, number = f"{copy.name}_host{number}", number + 1
        found.append(name)
    return found


def argument(ctx: ModuleContext, copy: HostCopy) -> str:
    """The text of the tensor, detached if the copy was."""
    text = ctx.text(copy.tensor)
    if not copy.detached:
        return text
    atom = isinstance(copy.tensor, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return (text if atom else f"({text})") + ".detach()"
