"""On which device a tensor provably lives: the text of the device expression, or None."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.sync.ops import ops
from npudoctor.migrate.sync.reaching import reaching

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding
    from npudoctor.migrate.sync.values import Values

_LIKE = frozenset(["zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"])
_MOVES = frozenset({"cpu", "cuda", "npu", "to", "numpy"})
_MAX_DEPTH = 40
_FUEL = 800
_MAX_BINDINGS = 8


class Devices:
    """Device inference over one module.

    A tensor in an operation with a tensor of known device is on that device too (a 0-dim
    host tensor joins any device, and the result is on the device).
    """

    def __init__(self, ctx: ModuleContext, values: Values) -> None:
        self._ctx = ctx
        self._values = values
        self._open: set[int] = set()
        self._fuel = _FUEL

    def of(self, node: ast.expr, depth: int = 0) -> str | None:
        """Device of a tensor expression, as source text that means it anywhere in the module."""
        if depth == 0:
            self._fuel = _FUEL
        self._fuel -= 1
        if depth > _MAX_DEPTH or self._fuel < 0:
            return None
        depth += 1
        if isinstance(node, ast.Name):
            return self._variable(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.BinOp):
            return self._joined([node.left, node.right], depth)
        if isinstance(node, ast.Compare):
            return self._joined([node.left, *node.comparators], depth)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.of(node.operand, depth)
        if isinstance(node, ast.Subscript):
            return self.of(node.value, depth) if self._values.of(node.value).tensor else None
        if isinstance(node, ast.IfExp):
            return self._agreed([self.of(node.body, depth), self.of(node.orelse, depth)])
        if isinstance(node, ast.Attribute) and node.attr in ("data", "T", "grad"):
            return self.of(node.value, depth)
        return None

    def _variable(self, node: ast.Name, depth: int) -> str | None:
        bindings = reaching(self._ctx, node)
        if len(bindings) > _MAX_BINDINGS:
            return None
        return self._agreed([self._bound(b, depth) for b in bindings])

    def _bound(self, binding: Binding, depth: int) -> str | None:
        if binding.kind == "augmented":
            return ""  # in place: stays where it is
        if binding.kind != "assign" or binding.value is None:
            return None
        if isinstance(binding.value, ast.Constant):
            return ""  # a number or None is not indexed and has no .item()
        if id(binding) in self._open:
            return ""
        self._open.add(id(binding))
        try:
            return self.of(binding.value, depth)
        finally:
            self._open.discard(id(binding))

    def _agreed(self, found: list[str | None]) -> str | None:
        """One device for all; the empty text agrees with any."""
        if any(f is None for f in found):
            return None
        named = {f for f in found if f}
        return named.pop() if len(named) == 1 else None

    def _joined(self, nodes: list[ast.expr], depth: int) -> str | None:
        """Device of an element-by-element operation."""
        named = {d for d in (self.of(n, depth) for n in nodes) if d}
        return named.pop() if len(named) == 1 else None

    def _call(self, node: ast.Call, depth: int) -> str | None:
        given = next((k.value for k in node.keywords if k.arg == "device"), None)
        path = self._ctx.qualified_name(node.func) or ""
        head, _, name = path.rpartition(".")
        if head == "torch" and name in ops("torch"):
            if given is not None:
                return self.stable(given)
            if name in _LIKE:
                return self.of(node.args[0], depth) if node.args else None
            known = ops("torch")[name]
            if known.storage == "factory" or name in ("as_tensor", "from_numpy", "asarray"):
                return None
            return self._joined([a for a in node.args if not isinstance(a, ast.Starred)], depth)
        if head == "torch.nn.functional":
            return self._joined(list(node.args), depth)
        if isinstance(node.func, ast.Attribute) and not path:
            return self._method(node, node.func, depth)
        return None

    def _method(self, node: ast.Call, func: ast.Attribute, depth: int) -> str | None:
        if func.attr == "to" and len(node.args) == 1 and not node.keywords:
            # `.to(x)` moves when x is a device; by a dtype the tensor stays.
            return self.stable(node.args[0])
        if func.attr in _MOVES or func.attr not in ops("method"):
            return None
        return self.of(func.value, depth)

    def stable(self, node: ast.expr) -> str | None:
        """Text of a device expression that has one value throughout the module."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "cpu":
            return ast.unparse(node).replace("'", '"')
        if isinstance(node, ast.Name):
            bindings = self._ctx.bindings(node)
            plain = len(bindings) == 1 and bindings[0].kind in ("assign", "param")
            named = "device" in node.id.lower() or self._ctx.kind(node) is Kind.DEVICE
            return node.id if plain and named else None
        if (
            isinstance(node, ast.Attribute)
            and "device" in node.attr.lower()
            and isinstance(node.value, ast.Name)
        ):
            return self._member(node, node.value)
        return None

    def _member(self, node: ast.Attribute, base: ast.Name) -> str | None:
        """`self.device` or `args.device`, when the module assigns that attribute once or never."""
        bindings = self._ctx.bindings(base)
        if len(bindings) != 1 or bindings[0].kind not in ("assign", "param"):
            return None
        stores = self._values.stores.get(node.attr, ())
        return ast.unparse(node) if len(stores) <= 1 else None
