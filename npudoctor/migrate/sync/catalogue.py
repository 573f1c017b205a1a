"""Reads of device values that no rewrite takes: what each is used for, and how hot it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.loops import Heat, Loops
from npudoctor.migrate.sync.forms import ScalarRead, copies_to_host, peel, scalar_reads
from npudoctor.migrate.sync.host import origins
from npudoctor.migrate.sync.own import is_ours
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

DEBUG, CONTROL, ENV_STEP, LOG, RETURN, VALUE = "debug", "control", "env-step", "log", "return", "value"

_LOG = re.compile(
    r"(^|\.)(log\w*|add_scalars?|record|debug|info|warning|error|set_(description|postfix)|write|warn)$"
)
_CHECKS = frozenset(
    ["torch.isnan", "torch.isinf", "torch.isfinite", "torch.equal", "torch.allclose", "torch.is_nonzero"]
)
_FOLLOWED = 2  # assignments from variable to variable
_FORMATS = frozenset({"builtins.print", "builtins.str", "builtins.repr", "builtins.format"})


@dataclass(frozen=True)
class Read:
    """One place where the host waits for the device.

    Attributes:
        node: the whole read, chain included.
        value: the device value that is read.
        kind: `scalar`, `array`, `truth` (a tensor in a condition) or `format` (printed).
        use: what the host does with it (`debug`, `control`, `env-step`, `log`, `return`, `value`).
        heat: how often.
        proved: the value provably is a tensor.
    """

    node: ast.expr
    value: ast.expr
    kind: str
    use: str
    heat: Heat
    proved: bool


class Catalogue:
    """All reads of one module that stand in something hot, claimed ones left out."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values, claimed: set[ast.AST]) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values
        self._claimed = claimed

    def find(self) -> list[Read]:
        """Reads in source order."""
        found: dict[ast.AST, Read] = {}
        for node, value, kind in self._candidates():
            if node in self._claimed or node in found or is_ours(self._ctx, node):
                continue
            heat = self._loops.paced(node)
            if heat in (Heat.EPOCH, Heat.ONCE):
                continue
            if kind in ("scalar", "array") and self._on_host(node):
                continue
            proved = self._values.of(value).tensor or kind == "array"
            found[node] = Read(node, value, kind, self._use(node), heat, proved)
        return sorted(found.values(), key=lambda read: self._ctx.span(read.node))

    def _on_host(self, read: ast.expr) -> bool:
        """Whether what is read was made on the host or copied there before: nothing is waited for."""
        if "set_default_" in self._ctx.source:
            return False  # the default device may be another one
        node = source = read
        while isinstance(node, (ast.Call, ast.Attribute)):
            if isinstance(node, ast.Call):
                if not isinstance(node.func, ast.Attribute):
                    break
                source = node.func.value if copies_to_host(node) else source
                node = node.func
            source = node.value if node.attr in ("cpu", "item", "numpy", "tolist") else source
            node = node.value
        return source is not read and origins(self._ctx, source) == {True}

    # -- what reads ----------------------------------------------------------------------

    def _candidates(self) -> Iterator[tuple[ast.expr, ast.expr, str]]:
        reads = scalar_reads(self._ctx)
        for call in self._ctx.nodes(ast.Call):
            read = reads.get(call)
            if read is not None:
                if self._reads_tensor(read):
                    yield call, read.value, "scalar"
            elif self._is_array_read(call):
                yield call, peel_copies(call), "array"
            elif self._ctx.called_name(call) in _FORMATS:
                for argument in call.args:
                    if self._values.of(argument).tensor:
                        yield argument, argument, "format"
        for part in self._ctx.nodes(ast.FormattedValue):
            if self._values.of(part.value).tensor:
                yield part.value, part.value, "format"
        yield from self._conditions()

    def _conditions(self) -> Iterator[tuple[ast.expr, ast.expr, str]]:
        ctx = self._ctx
        tests = [n.test for n in ctx.nodes(ast.If)] + [n.test for n in ctx.nodes(ast.While)]
        tests += [n.test for n in ctx.nodes(ast.IfExp)] + [n.test for n in ctx.nodes(ast.Assert)]
        for test in (term for whole in tests for term in _terms(whole)):
            if self._values.of(test).tensor or ctx.called_name(test) in _CHECKS:
                yield test, test, "truth"

    def _reads_tensor(self, read: ScalarRead) -> bool:
        return self._values.of(read.value).tensor or read.form == "item"

    def _is_array_read(self, call: ast.Call) -> bool:
        """The outermost call of `.cpu()`, `.cpu().numpy()`, `.detach().numpy()` or `.tolist()`."""
        func = call.func
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr not in ("cpu", "numpy", "tolist") and not copies_to_host(call):
            return False
        if self._ctx.qualified_name(func) is not None or self._read_again(call):
            return False
        names = list(_chain(call))
        if "cpu" in names:
            return not call.keywords or func.attr != "cpu"
        if func.attr == "numpy":
            return "detach" in names or self._values.of(func.value).tensor
        return self._values.of(func.value).tensor

    def _read_again(self, call: ast.Call) -> bool:
        """Whether the chain goes on to another read: `.cpu().squeeze().numpy()` is one."""
        node: ast.AST | None = self._ctx.parent(call)
        while isinstance(node, (ast.Attribute, ast.Call)):
            if isinstance(node, ast.Attribute) and node.attr in ("numpy", "tolist", "item", "cpu"):
                return True
            if copies_to_host(node):
                return True
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
                return False
            node = self._ctx.parent(node)
        return False

    # -- what for ------------------------------------------------------------------------

    def _use(self, node: ast.expr) -> str:
        child: ast.AST = node
        for above in self._ctx.ancestors(node):
            if isinstance(above, ast.Assert):
                return DEBUG
            if isinstance(above, (ast.If, ast.While)) and child is above.test:
                return DEBUG if _only_complains(above) else CONTROL
            if isinstance(above, ast.IfExp) and child is above.test:
                return CONTROL
            if isinstance(above, ast.Call):
                found = self._call_use(above)
                if found is not None:
                    return found
            if isinstance(above, ast.stmt):
                return self._statement_use(above, child)
            child = above
        return VALUE

    def _call_use(self, call: ast.Call) -> str | None:
        name = self._ctx.called_name(call) or ""
        if name == "builtins.print":
            return DEBUG
        if name == "builtins.range":
            return CONTROL
        text = ast.unparse(call.func)
        if re.search(r"envs?\w*\.step(_async)?$", text):
            return ENV_STEP
        return LOG if _LOG.search(text) else None

    def _statement_use(self, statement: ast.stmt, child: ast.AST) -> str:
        if isinstance(statement, ast.Return):
            return RETURN
        if isinstance(statement, ast.Assign) and child is statement.value:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                return self._name_use(target)
        return VALUE

    def _name_use(self, target: ast.Name, depth: int = 0) -> str:
        """Use of the variable that a read is assigned to: deciding beats stepping beats the rest."""
        uses: set[str] = set()
        for use in self._ctx.uses(target.id, self._ctx.scope(target)):
            child: ast.AST = use
            passed_on = self._passed_on(use)
            if passed_on is not None and passed_on.id != target.id and depth < _FOLLOWED:
                uses.add(self._name_use(passed_on, depth + 1))
            for above in self._ctx.ancestors(use):
                if isinstance(above, (ast.If, ast.While, ast.IfExp)) and child is above.test:
                    uses.add(CONTROL)
                elif isinstance(above, ast.Call):
                    uses.add(self._call_use(above) or VALUE)
                elif isinstance(above, ast.Return):
                    uses.add(RETURN)
                if isinstance(above, ast.stmt):
                    break
                child = above
        for kind in (CONTROL, ENV_STEP, RETURN):
            if kind in uses:
                return kind
        return VALUE

    def _passed_on(self, use: ast.Name) -> ast.Name | None:
        """`b` of `b = a` or `b = np.clip(a, ...)`."""
        statement = self._ctx.statement(use)
        above = self._ctx.parent(use)
        direct = above is statement or (isinstance(above, ast.Call) and self._ctx.parent(above) is statement)
        if not isinstance(statement, ast.Assign) or not direct:
            return None
        target = statement.targets[0]
        return target if isinstance(target, ast.Name) else None

    def invariant_in(self, read: Read) -> ast.AST | None:
        """The loop in which the value read never changes by name, if there is one."""
        ctx = self._ctx
        names = {n.id for n in ctx.within(read.value, ast.Name)}
        calls = any(not isinstance(n.func, ast.Attribute) for n in ctx.within(read.value, ast.Call))
        loop = ctx.enclosing_loop(read.node)
        if loop is None or not names or calls:
            return None
        bound = {n.id for n in ctx.within(loop, ast.Name) if not isinstance(n.ctx, ast.Load)}
        written = {
            n.value.id
            for n in ctx.within(loop, ast.Subscript)
            if isinstance(n.value, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        return None if names & (bound | written) else loop


def peel_copies(node: ast.expr) -> ast.expr:
    """The device value under `.detach().cpu().numpy()` and the like."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        neutral = node.func.attr in ("numpy", "tolist", "cpu", "detach", "clone", "flatten", "squeeze")
        if not (neutral or copies_to_host(node)):
            break
        node = peel(node.func.value)
    return node


def _chain(call: ast.expr) -> Iterator[str]:
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield "cpu" if copies_to_host(node) else node.func.attr
        node = node.func.value
        while isinstance(node, ast.Attribute):
            node = node.value


def _terms(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition whose truth is asked for."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _terms(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _terms(test.operand)
    else:
        yield test


def _only_complains(statement: ast.If | ast.While) -> bool:
    """Whether the branch only raises, prints or stops in a debugger."""
    if isinstance(statement, ast.While) or statement.orelse:
        return False
    for inner in statement.body:
        if isinstance(inner, (ast.Raise, ast.Pass, ast.Assert)):
            continue
        call = inner.value if isinstance(inner, ast.Expr) else None
        if not (
            isinstance(call, ast.Call)
            and re.search(r"print|log|warn|breakpoint|set_trace", ast.unparse(call.func))
        ):
            return False
    return True
