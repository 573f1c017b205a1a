"""How hot a place is: which loop runs it, following calls within the module and the project.

A loop that steps an environment runs once per environment step; a loop that calls
`.backward()` runs once per minibatch; a loop around such loops runs once per epoch or
update. Heat only ranks and words findings: no rewrite depends on a name.
"""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING, Union

from npudoctor.migrate.names import FUNCTIONS
from npudoctor.migrate.positions import last_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from npudoctor.migrate.context import ModuleContext

LOOPS = (ast.For, ast.AsyncFor, ast.While)
LoopNode = Union[ast.For, ast.AsyncFor, ast.While]

_ENV = re.compile(r"(^|_)v?envs?($|_|\d)|environment", re.I)
_BATCH = re.compile(r"batch|loader|sampler|generator|dataset|gradient_step|replay|(^|_)mb($|_)", re.I)
_EPOCH = re.compile(r"epoch|update|iteration|episode|(^|_)iters?($|_)", re.I)
_STEP = re.compile(r"num_steps|n_steps|rollout|horizon|max_step|timestep|max_ep_len|steps_per", re.I)

# Names of containers, arrays and files that a project may also define; calls to them prove nothing.
_COMMON_WORDS = (
    "append extend add get set pop update items keys values copy close open read write save load reset "
    "step sum mean max min std any all log info print join split format insert remove clear index count "
    "sort __init__ to cpu cuda numpy item tolist detach train eval parameters state_dict"
)
COMMON = frozenset(_COMMON_WORDS.split())
# Of these a variable's name tells which class is meant: `rollout_buffer.add` is `RolloutBuffer.add`.
_STORE = re.compile(r"buffer|storage|memory|replay|rollouts?$|^rb$", re.I)
STORE = "store."
_SHARED = COMMON | {"sample"}  # of a distribution, a policy, an action space, or a buffer
_WHOLE = re.compile(r"^(collect\w*|rollout|sample_trajector\w+)$")


@enum.unique
class Heat(enum.Enum):
    """How often a place runs, hottest first."""

    STEP = "step"
    MINIBATCH = "minibatch"
    LOOP = "loop"
    EPOCH = "epoch"
    ONCE = "once"

    rank: int

    def __init__(self, _: str) -> None:
        self.rank = len(self.__class__.__members__)  # 0 is the hottest


def hotter(*heats: Heat) -> Heat:
    """The hottest of several."""
    return min(heats, key=lambda h: h.rank)


class Loops:
    """Heat of every place of one module.

    Args:
        outside: function name -> heat of its hottest call site in other modules.
    """

    def __init__(self, ctx: ModuleContext, outside: dict[str, Heat] | None = None) -> None:
        self._ctx = ctx
        self._stepping: set[ast.AST] = set()
        self._functions: dict[str, list[ast.AST]] = {}
        self._kinds: dict[ast.AST, Heat] = {}
        self._edges: dict[ast.AST | None, list[tuple[ast.AST, Heat]]] = {}
        self._rare: list[ast.AST] = []  # called once in a while, however hot the caller
        if "loops" in ctx.syntax.memo:
            self.__dict__.update(ctx.syntax.memo["loops"])
        else:
            self._look()
            ctx.syntax.memo["loops"] = {k: v for k, v in self.__dict__.items() if k != "_ctx"}
        self.function_heat: dict[ast.AST, Heat] = {}
        self._follow_calls(outside or {})

    def kind(self, loop: ast.AST) -> Heat:
        """What one loop runs once per."""
        return self._kinds[loop]

    def steps_inside(self, loop: ast.AST) -> bool:
        """Whether `loop` or a loop inside it steps an environment."""
        return loop in self._stepping

    def lexical(self, node: ast.AST) -> Heat:
        """Heat by the loops of the same function alone."""
        heat, child = Heat.ONCE, node
        for above in self._ctx.ancestors(node):
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(above, LOOPS) and _runs_each_time(above, child):
                heat = hotter(heat, self._kinds[above])
            child = above
        return heat

    def of(self, node: ast.AST) -> Heat:
        """Heat of a place: its loops and the calls that lead to its function."""
        function = self._ctx.enclosing_function(node)
        called = self.function_heat.get(function, Heat.ONCE) if function is not None else Heat.ONCE
        return hotter(self.lexical(node), called)

    def paced(self, node: ast.AST) -> Heat:
        """As `of`; a place that is reached only now and then counts as once per epoch."""
        return Heat.EPOCH if throttled(self._ctx, node) else self.of(node)

    def called_from_loop(self, node: ast.AST) -> bool:
        """Whether `node` is hot only because its function is called from a loop elsewhere."""
        return self.lexical(node).rank > self.of(node).rank

    # -- loops -------------------------------------------------------------------------

    def _look(self) -> None:
        """Everything that the text of this module alone tells."""
        self._functions = self._by_name()
        self._kinds = self._classify()
        for call in self._ctx.nodes(ast.Call):
            callees = self._callees(call) if _tells(call) else []
            if callees and throttled(self._ctx, call):
                self._rare.extend(callees)
            elif callees:
                caller: ast.AST | None = self._ctx.enclosing_function(call)
                lexical = self.lexical(call)
                self._edges.setdefault(caller, []).extend((callee, lexical) for callee in callees)

    def _classify(self) -> dict[ast.AST, Heat]:
        marks: dict[ast.AST, Heat] = {}
        does: dict[ast.AST | None, set[Heat]] = {}  # what a call of a function does, in its loops or not
        for call in self._ctx.nodes(ast.Call):
            mark = _mark(call)
            if mark is None:
                continue
            loop, function = self._ctx.enclosing_loop(call), self._ctx.enclosing_function(call)
            if loop is not None:
                marks[loop] = hotter(marks.get(loop, Heat.ONCE), mark)
            does.setdefault(function, set()).add(mark if loop is None else Heat.EPOCH)
        kinds: dict[ast.AST, Heat] = {}
        outer: set[ast.AST] = set()
        for marked in marks:
            outer.update(a for a in self._ctx.ancestors(marked) if isinstance(a, LOOPS))
        every: list[LoopNode] = [*self._ctx.nodes(ast.For), *self._ctx.nodes(ast.AsyncFor)]
        every += self._ctx.nodes(ast.While)
        for found in every:
            kinds[found] = marks.get(found, Heat.EPOCH if found in outer else _by_name(found))
            if kinds[found] is Heat.STEP:
                self._stepping.add(found)
                self._stepping.update(a for a in self._ctx.ancestors(found) if isinstance(a, LOOPS))
                if found not in marks:
                    kinds[found] = self._by_calls(found, does)
        return kinds

    def _by_calls(self, loop: LoopNode, does: dict[ast.AST | None, set[Heat]]) -> Heat:
        """Heat of a loop over time steps by what it calls: collecting and learning in turn, or one update."""
        told = {heat for call in self._ctx.within(loop, ast.Call) for heat in self._told(call, does)}
        if Heat.STEP in told or not told:
            return Heat.STEP
        return Heat.EPOCH if Heat.EPOCH in told else Heat.MINIBATCH

    def _told(self, call: ast.Call, does: dict[ast.AST | None, set[Heat]]) -> set[Heat]:
        """What the functions of this module do that a call leads to; `does` is filled on the way."""
        found: set[Heat] = set()
        if not _tells(call) or throttled(self._ctx, call):
            return found
        for function in self._callees(call):
            if function not in does:
                does[function] = set()  # until it is known; functions may call each other
                for inner in self._ctx.within(function, ast.Call):
                    deeper = self._told(inner, does)
                    in_loop = bool(deeper) and self._ctx.enclosing_loop(inner) is not None
                    does[function] |= {Heat.EPOCH} if in_loop else deeper
            found |= does[function]
        return found

    # -- calls -------------------------------------------------------------------------

    def _by_name(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*self._ctx.nodes(ast.FunctionDef)]
        functions += self._ctx.nodes(ast.AsyncFunctionDef)
        for node in functions:
            own = function_name(self._ctx, node)
            found.setdefault(own, []).append(node)
            if own != node.name and node.name in COMMON:  # `self.add(...)` within the class
                found.setdefault(node.name, []).append(node)
        return found

    def _callees(self, call: ast.Call) -> list[ast.AST]:
        """Functions of this module that the call may mean: methods for `x.f()`, others for `f()`, if any."""
        named = self._functions.get(callee_name(call) or "", [])
        as_method = isinstance(call.func, ast.Attribute)
        fitting = [f for f in named if isinstance(self._ctx.parent(f), ast.ClassDef) is as_method]
        return fitting or named

    def _follow_calls(self, outside: dict[str, Heat]) -> None:
        """Fixpoint: a function is as hot as its hottest call site."""
        for name, heat in outside.items():
            for function in self._functions.get(name, ()):
                self.function_heat[function] = heat
        for callee in self._rare:
            self.function_heat[callee] = hotter(self.function_heat.get(callee, Heat.ONCE), Heat.EPOCH)
        changed: list[ast.AST | None] = [None, *self._edges]
        while changed:
            current = changed.pop()
            above = self.function_heat.get(current, Heat.ONCE) if current is not None else Heat.ONCE
            for callee, lexical in self._edges.get(current, ()):
                heat = hotter(above, lexical)
                if heat.rank < self.function_heat.get(callee, Heat.ONCE).rank:
                    self.function_heat[callee] = heat
                    changed.append(callee)

    def call_sites(self, called: Callable[[ModuleContext, ast.Call], str | None]) -> dict[str, Heat]:
        """What is called, in the words of `called` -> heat of its hottest call site in this module."""
        found: dict[str, Heat] = {}
        for call in self._ctx.nodes(ast.Call):
            name = called(self._ctx, call)
            if name:
                heat = self.paced(call)
                if heat is not Heat.ONCE:
                    found[name] = hotter(found.get(name, Heat.ONCE), heat)
        return found


def loops_of(ctx: ModuleContext) -> Loops:
    """The loops of a module by itself, found once per context."""
    if "loops" not in ctx.memo:
        ctx.memo["loops"] = Loops(ctx)
    known: Loops = ctx.memo["loops"]
    return known


def callee_name(call: ast.Call) -> str | None:
    """The last name of what is called: `act` for `agent.act(x)`; `forward` for `self.actor(x)`."""
    func = call.func
    if isinstance(func, ast.Name):
        return func.id
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name) and func.value.id == "self" and _MODULE_NAME.search(func.attr):
            return "forward"
        stored = func.attr in _SHARED and _STORE.search(last_name(func.value))
        return f"{STORE}{func.attr}" if stored else func.attr
    return None


def function_name(ctx: ModuleContext, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The name of a function as `callee_name` gives it: `store.add` for the `add` of a rollout buffer."""
    owner = ctx.parent(function)
    stored = isinstance(owner, ast.ClassDef) and function.name in _SHARED and _STORE.search(owner.name)
    return f"{STORE}{function.name}" if stored else function.name


def _tells(call: ast.Call) -> bool:
    """Whether the name called can stand for a function of this module: not `self.norm.update(x)`."""
    func = call.func
    if (
        not isinstance(func, ast.Attribute)
        or func.attr not in COMMON
        or _STORE.search(last_name(func.value))
    ):
        return True
    if func.attr == "train" and call.args and not isinstance(call.args[0], ast.Constant):
        return True  # trainer.train(batch), not model.train(True)
    return isinstance(func.value, ast.Name) and func.value.id in ("self", "cls")


_MODULE_NAME = re.compile(r"^(actor|critic|policy|net|network|model|encoder|q_net|qf\d?)(_net|_network)?$")


def throttled(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether the place runs only now and then: `if step % 100 == 0:`."""
    now_and_then = ctx.syntax.memo.get("now and then")
    if now_and_then is None:
        now_and_then = ctx.syntax.memo["now and then"] = _now_and_then(ctx)
    if not now_and_then:
        return False
    child: ast.AST = node
    for above in ctx.ancestors(node):
        if isinstance(above, ast.If) and above in now_and_then and child in above.body:
            return True
        child = above
    return False


def _now_and_then(ctx: ModuleContext) -> set[ast.AST]:
    """Every `if` whose test takes a remainder."""
    remainders = [n for n in ctx.nodes(ast.BinOp) if isinstance(n.op, ast.Mod)]
    tests = ctx.nodes(ast.If) if remainders else []
    return {n for n in tests if any(ctx.inside(r, n.test) for r in remainders)}


def _runs_each_time(loop: LoopNode, child: ast.AST) -> bool:
    once: tuple[ast.AST, ...] = (loop.iter,) if isinstance(loop, (ast.For, ast.AsyncFor)) else ()
    return child not in loop.orelse and child not in once


def _mark(call: ast.Call) -> Heat | None:
    """What a call says about the loop that holds it."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return None
    if func.attr in ("backward", "manual_backward"):
        return Heat.MINIBATCH
    if func.attr in ("step", "step_wait", "step_async") and _is_env(func.value):
        return Heat.STEP
    if func.attr == "step" and re.search(r"opt", ast.unparse(func.value), re.I):
        return Heat.MINIBATCH
    return None


def _is_env(node: ast.expr) -> bool:
    return bool(_ENV.search(last_name(node)))


def _by_name(loop: LoopNode) -> Heat:
    """Heat of a loop without a telling call, by the words of its header."""
    words = loop.test if isinstance(loop, ast.While) else loop.iter
    names = [n.id for n in ast.walk(words) if isinstance(n, ast.Name)]
    names += [n.attr for n in ast.walk(words) if isinstance(n, ast.Attribute)]
    if not isinstance(loop, ast.While):
        names += [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    text = " ".join(names)
    for pattern, heat in ((_EPOCH, Heat.EPOCH), (_BATCH, Heat.MINIBATCH), (_STEP, Heat.STEP)):
        if pattern.search(text):
            return Heat.EPOCH if heat is Heat.STEP and _runs_rollouts(loop) else heat
    return Heat.LOOP


def _runs_rollouts(loop: LoopNode) -> bool:
    """Whether one pass collects a whole rollout: `while self.num_timesteps < total: self.collect()`."""
    calls = (n for statement in loop.body for n in ast.walk(statement) if isinstance(n, ast.Call))
    return any(_WHOLE.search(callee_name(call) or "") for call in calls)
