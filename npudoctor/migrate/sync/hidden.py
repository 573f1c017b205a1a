"""Waits that carry no `.item()`: uploads, data-dependent shapes, explicit synchronisation, hidden reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.loops import Heat, Loops
from npudoctor.migrate.sync.own import is_ours
from npudoctor.migrate.sync.values import Values
from npudoctor.migrate.torchnames import torch_path

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

UPLOAD, SHAPE, SYNCHRONIZE, HIDDEN = "upload", "shape", "synchronize", "hidden"

_FROM_HOST = frozenset(
    {
        "torch.tensor",
        "torch.as_tensor",
        "torch.from_numpy",
        "torch.asarray",
        "torch.Tensor",
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.DoubleTensor",
    }
)
_SHAPE_CALLS = frozenset({"torch.nonzero", "torch.masked_select", "torch.unique", "torch.argwhere"})
_SHAPE_METHODS = frozenset({"nonzero", "masked_select", "unique", "argwhere"})
_SYNCHRONIZE = frozenset(
    f"torch.{d}.{f}" for d in ("cuda", "npu", "accelerator") for f in ("synchronize", "empty_cache")
)


@dataclass(frozen=True)
class Wait:
    """One hidden wait in something hot."""

    node: ast.expr
    kind: str
    heat: Heat


class Hidden:
    """Hidden waits of one module."""

    def __init__(self, ctx: ModuleContext, loops: Loops, values: Values) -> None:
        self._ctx = ctx
        self._loops = loops
        self._values = values

    def find(self) -> list[Wait]:
        """Waits in source order, those in hot places only."""
        found = []
        for node, kind in self._candidates():
            heat = self._loops.paced(node)
            hot = heat in (Heat.STEP, Heat.MINIBATCH) or (kind == SYNCHRONIZE and heat is not Heat.ONCE)
            if hot and not is_ours(self._ctx, node):
                found.append(Wait(node, kind, heat))
        return sorted(found, key=lambda w: self._ctx.span(w.node))

    def _candidates(self) -> Iterator[tuple[ast.expr, str]]:
        for call in self._ctx.nodes(ast.Call):
            path = torch_path(self._ctx, call.func) or ""
            if path in _SYNCHRONIZE:
                yield call, SYNCHRONIZE
            elif self._is_upload(call, path):
                yield call, UPLOAD
            elif (
                path in _SHAPE_CALLS
                or (path == "torch.where" and len(call.args) == 1)
                or self._is_shape_method(call)
            ):
                yield call, SHAPE
            elif self._is_hidden(call, path):
                yield call, HIDDEN
        for subscript in self._ctx.nodes(ast.Subscript):
            if isinstance(subscript.slice, (ast.Name, ast.Compare, ast.UnaryOp, ast.Call)):
                index = self._values.of(subscript.slice)
                if index.tensor and index.dtype == "bool" and self._values.of(subscript.value).tensor:
                    yield subscript, SHAPE

    def _is_upload(self, call: ast.Call, path: str) -> bool:
        """`torch.tensor(x, device=d)` or `torch.tensor(x).to(d)` with host data."""
        if path in _FROM_HOST and any(k.arg == "device" and not _is_cpu(k.value) for k in call.keywords):
            return not (call.args and self._values.of(call.args[0]).tensor)
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in ("to", "cuda", "npu"):
            return False
        made = func.value
        while (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Attribute)
            and not self._ctx.called_name(made)
        ):
            made = made.func.value
        if not isinstance(made, ast.Call) or self._ctx.called_name(made) not in _FROM_HOST:
            return False
        return func.attr != "to" or (bool(call.args or call.keywords) and not self._is_dtype(call))

    def _is_dtype(self, call: ast.Call) -> bool:
        first = call.args[0] if call.args else call.keywords[0].value
        return (self._ctx.qualified_name(first) or "").startswith("torch.") or _is_cpu(first)

    def _is_shape_method(self, call: ast.Call) -> bool:
        func = call.func
        return (
            isinstance(func, ast.Attribute)
            and func.attr in _SHAPE_METHODS
            and not self._ctx.called_name(call)
            and self._values.of(func.value).tensor
        )

    def _is_hidden(self, call: ast.Call, path: str) -> bool:
        if path.endswith("clip_grad_norm_"):
            return any(k.arg == "error_if_nonfinite" and _is_true(k.value) for k in call.keywords)
        if path == "torch.nn.functional.one_hot":
            return len(call.args) < 2 and not any(k.arg == "num_classes" for k in call.keywords)
        if path in ("torch.repeat_interleave", "torch.bincount"):
            return True
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "step":
            return self._is_scaler(func.value)
        return False

    def _is_scaler(self, node: ast.expr) -> bool:
        """Whether `node` is a variable made by `GradScaler(...)`."""
        if not isinstance(node, ast.Name) or self._ctx.kind(node) not in (Kind.UNKNOWN, Kind.OTHER):
            return False
        made = [b.value for b in self._ctx.bindings(node)]
        paths = [torch_path(self._ctx, v.func) or "" if isinstance(v, ast.Call) else "" for v in made]
        return bool(paths) and all(path.endswith("GradScaler") for path in paths)


def _is_cpu(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("cpu", None)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
