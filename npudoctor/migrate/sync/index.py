"""A NumPy index used on several device tensors: every use uploads it again."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.devices import Devices
from npudoctor.migrate.sync.reaching import reaching
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Scope

OTHER_USE = Text(
    "`{name}` is also used in another way than as the whole index of a tensor",
    "`{name}` 除了作为张量的完整索引外还有其他用途",
)
NO_DEVICE = Text(
    "it is not proved that all indexed tensors live on one device that has a name here",
    "无法证明所有被索引的张量都位于此处有名字的同一设备上",
)
CHANGED = Text(
    "the index array is used or changed within the same loop pass", "索引数组在同一次循环中还被使用或修改"
)

_ARRAY_CALLS = frozenset({"numpy.arange", "numpy.random.permutation"})
_MAX_DEPTH = 6  # times the bindings of each name: keep the product small
_MAX_BINDINGS = 3
_SIGNED = re.compile(r"(?<![a-z])int(32|64)?\b")
_ARRAY_METHODS = frozenset({"reshape", "ravel", "flatten", "copy", "astype"})


@dataclass(frozen=True)
class Upload:
    """An assignment of a NumPy index, and the places that index tensors with it.

    Attributes:
        assign: `mb = inds[start:end]`.
        uses: subscripts `t[mb]`.
        device: text of the device, None when refused.
        torch: name of the torch module.
        refusal: why it is left alone.
    """

    assign: ast.Assign
    name: str
    uses: tuple[ast.Subscript, ...]
    device: str | None
    torch: str | None
    refusal: Text | None


class Indices:
    """Every NumPy index of one module that is used on tensors."""

    def __init__(self, ctx: ModuleContext, values: Values, devices: Devices) -> None:
        self._ctx = ctx
        self._values = values
        self._devices = devices

    def find(self) -> list[Upload]:
        """Uploads in source order; only names used at least twice on tensors."""
        found = []
        for assign in self._ctx.nodes(ast.Assign):
            target = assign.targets[0]
            if len(assign.targets) != 1 or not isinstance(target, ast.Name):
                continue
            if isinstance(assign.value, (ast.Subscript, ast.Call)) and self.is_array(assign.value):
                upload = self._upload(assign, target)
                if upload is not None:
                    found.append(upload)
        return found

    def is_array(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether `node` provably is an index array of NumPy with at least one dimension."""
        if depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Name):
            bound = reaching(self._ctx, node)
            return 0 < len(bound) <= _MAX_BINDINGS and all(
                b.kind == "assign" and b.value is not None and self.is_array(b.value, depth + 1)
                for b in bound
            )
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            sliced = any(isinstance(p, ast.Slice) for p in parts)
            return sliced and self.is_array(node.value, depth + 1)
        if isinstance(node, ast.Call):
            if self._ctx.qualified_name(node.func) in _ARRAY_CALLS:
                return not any(k.arg == "dtype" for k in node.keywords)
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr in _ARRAY_METHODS:
                plain = func.attr != "astype" or _SIGNED.search(ast.unparse(node)) is not None
                return plain and self.is_array(func.value, depth + 1)
        return False

    def _upload(self, assign: ast.Assign, target: ast.Name) -> Upload | None:
        ctx = self._ctx
        scope = ctx.scope(target)
        uses = ctx.uses(target.id, scope)
        subscripts = [s for s in (self._subscript(u) for u in uses) if s is not None]
        on_tensors = [s for s in subscripts if self._values.of(s.value).tensor]
        if len(on_tensors) < 2:
            return None
        devices = {self._devices.of(s.value) for s in on_tensors}
        device = devices.pop() if len(devices) == 1 else None
        torch = hazards.torch_name(ctx, assign)
        refusal = self._refusal(assign, target, scope, uses, on_tensors)
        if refusal is None and device is None:
            refusal = NO_DEVICE
        if refusal is None and torch is None:
            refusal = hazards.NO_TORCH_NAME
        return Upload(assign, target.id, tuple(on_tensors), device, torch, refusal)

    def _refusal(
        self,
        assign: ast.Assign,
        target: ast.Name,
        scope: Scope,
        uses: list[ast.Name],
        on_tensors: list[ast.Subscript],
    ) -> Text | None:
        ctx = self._ctx
        if len(on_tensors) != len(uses) or len(scope.bindings[target.id]) != 1 or target.id in scope.outer:
            return OTHER_USE
        if any(ctx.scope(u) is not scope for u in uses) or isinstance(scope.node, ast.ClassDef):
            return hazards.CLOSURE
        loop = ctx.enclosing_loop(assign)
        region = loop if loop is not None else scope.node
        if not all(ctx.inside(u, region) for u in uses):
            return OTHER_USE
        for name in ctx.within(assign.value, ast.Name):
            if not self.is_array(name):
                continue
            every = ctx.uses(name.id, ctx.scope(name).find(name.id) or scope)
            others = [u for u in every if not ctx.inside(u, assign)]
            if any(ctx.inside(u, region) and not self._only_indexes(u) for u in others):
                return CHANGED
        return None

    def _only_indexes(self, use: ast.Name) -> bool:
        """Whether the array is part of an index here, and so cannot be written to."""
        above = self._ctx.parent(use)
        if isinstance(above, ast.Tuple):
            use, above = above, self._ctx.parent(above)  # type: ignore[assignment]
        return isinstance(above, ast.Subscript) and above.slice is use

    def _subscript(self, use: ast.Name) -> ast.Subscript | None:
        above = self._ctx.parent(use)
        whole = isinstance(above, ast.Subscript) and above.slice is use and isinstance(above.ctx, ast.Load)
        return above if whole and isinstance(above, ast.Subscript) else None
