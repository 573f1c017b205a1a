"""Per-step uploads into a device buffer that is only read after the rollout: a host buffer, one upload."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.loops import Heat, LoopNode, Loops
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.devices import Devices
from npudoctor.migrate.sync.forms import indent_of
from npudoctor.migrate.sync.ops import ops
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Scope

# Host data becomes a tensor here; the first group always makes the default floating dtype.
_DEFAULT_DTYPE = frozenset({"torch.Tensor", "torch.FloatTensor"})
_OWN_DTYPE = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy"})
_FACTORIES = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.full"})
_SHAPE_ONLY = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze"})
_READS_AFTER = Text(
    "`{name}` is also used inside the loop, or escapes to other code",
    "`{name}` 在循环内另有使用，或被传给其他代码",
)


@dataclass(frozen=True)
class Step:
    """`buf[step] = torch.tensor(x).to(device)` in an environment loop.

    Attributes:
        assign: the statement; `move` is its `.to(device)` call.
        same_dtype: no number changes its type on the way into the buffer.
        refusal: why it is left alone.
    """

    assign: ast.Assign
    name: str
    loop: LoopNode
    move: ast.Call
    same_dtype: bool
    refusal: Text | None


class HostBuffers:
    """Every such write of one module."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values, devices: Devices) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values
        self._devices = devices

    def find(self) -> list[Step]:
        """Writes in source order; one per buffer and loop."""
        found: dict[tuple[int, str], Step] = {}
        for assign in self._ctx.nodes(ast.Assign):
            target = assign.targets[0]
            loop = self._ctx.enclosing_loop(assign)
            if len(assign.targets) != 1 or loop is None or self._loops.kind(loop) is not Heat.STEP:
                continue
            if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
                continue
            move = self._move(assign.value)
            if move is None or not isinstance(loop, ast.For):
                continue
            name = target.value
            device = self._devices.of(name)
            if device is None or self._devices.stable(move.args[0]) != device:
                continue
            step = Step(
                assign, name.id, loop, move, self._same_dtype(move, name), self._refusal(assign, name, loop)
            )
            found.setdefault((id(loop), name.id), step)
        return list(found.values())

    def _move(self, node: ast.expr) -> ast.Call | None:
        """The `.to(device)` of an upload, shape changes after it allowed."""
        while (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _SHAPE_ONLY
        ):
            node = node.func.value
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        ):
            return None
        if len(node.args) != 1 or node.keywords or not isinstance(node.func.value, ast.Call):
            return None
        made = self._ctx.called_name(node.func.value)
        if made not in _DEFAULT_DTYPE | _OWN_DTYPE or len(node.func.value.args) != 1:
            return None
        return node if not any(k.arg == "device" for k in node.func.value.keywords) else None

    def _same_dtype(self, move: ast.Call, name: ast.Name) -> bool:
        made = move.func.value  # type: ignore[attr-defined]
        buffer = self._factory(name)
        plain = buffer is not None and not any(k.arg == "dtype" for k in buffer.keywords)
        return plain and self._ctx.called_name(made) in _DEFAULT_DTYPE and not made.keywords

    def _factory(self, name: ast.Name) -> ast.Call | None:
        """The `torch.zeros(...)` that made the buffer, when it is bound once."""
        bindings = self._ctx.bindings(name)
        value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
            value = value.func.value
        made = isinstance(value, ast.Call) and self._ctx.called_name(value) in _FACTORIES
        return value if made and isinstance(value, ast.Call) else None

    def _refusal(self, assign: ast.Assign, name: ast.Name, loop: ast.For) -> Text | None:
        ctx, scope = self._ctx, self._ctx.scope(name)
        target = assign.targets[0]
        plain_index = (
            isinstance(target, ast.Subscript)
            and isinstance(target.slice, ast.Name)
            and isinstance(loop.target, ast.Name)
            and loop.target.id == target.slice.id
            and ctx.called_name(loop.iter) == "builtins.range"
            and all(b.kind == "loop" for b in ctx.bindings(target.slice))
        )
        if not plain_index or self._factory(name) is None or scope.find(name.id) is not scope:
            return _READS_AFTER
        uses = ctx.uses(name.id, scope)
        if not self._only_written(assign, loop, uses, scope):
            return _READS_AFTER
        if indent_of(ctx, loop) is None:
            return _READS_AFTER
        return (
            hazards.of_region(ctx, loop, assign)
            or hazards.of_surroundings(ctx, loop, uses)
            or hazards.of_function(ctx, scope, loop)
        )

    def _only_written(self, assign: ast.Assign, loop: ast.For, uses: list[ast.Name], scope: Scope) -> bool:
        names_inside = {n.id for n in self._ctx.within(loop, ast.Name)}
        for use in uses:
            if self._ctx.scope(use) is not scope:
                return False
            if self._ctx.inside(use, loop):
                if use is not assign.targets[0].value:  # type: ignore[attr-defined]
                    return False
                continue
            if self._ctx.span(use)[0] < self._ctx.span(loop)[0]:
                return False  # saved for a backward pass, which a write at the end of no pass would disturb
            statement = self._ctx.statement(use)
            names = self._ctx.within(statement, ast.Name)
            bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
            if bound & names_inside and not self._makes_new(use):
                return False  # a view of the buffer might be read in the loop
            if not self._stays(use):
                return False
        return True

    def _stays(self, use: ast.Name) -> bool:
        """Whether this use can neither keep nor pass on the buffer itself."""
        above = self._ctx.parent(use)
        if isinstance(above, (ast.Subscript, ast.BinOp, ast.Compare, ast.UnaryOp)):
            return True
        if isinstance(above, ast.Attribute):
            call = self._ctx.parent(above)
            called = isinstance(call, ast.Call) and call.func is above
            return above.attr in ops("method") if called else above.attr in ("shape", "dtype", "device")
        if isinstance(above, ast.Call):
            head, _, name = (self._ctx.called_name(above) or "").rpartition(".")
            return head == "torch" and name in ops("torch")
        return False

    def _makes_new(self, use: ast.Name) -> bool:
        above = self._ctx.parent(use)
        if isinstance(above, (ast.BinOp, ast.Compare)):
            return True
        if isinstance(above, ast.Call):
            head, _, name = (self._ctx.called_name(above) or "").rpartition(".")
            op = ops("torch").get(name) if head == "torch" else None
            return op is not None and op.storage == "new"
        return False
