"""Bare integers as devices, which mean CUDA before torch 2.4."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    argument,
    change,
)

_MESSAGE = Message(
    title=Text("`{code}` names a device by a bare number", "`{code}` 仅用数字指定设备"),
    cause=Text(
        "before torch 2.4 a bare number means a CUDA device; newer releases take the current accelerator",
        "torch 2.4 之前，单独的数字表示 CUDA 设备；更新的版本表示当前加速器",
    ),
    fix=Text('write "npu:<n>"', '写成 "npu:<n>"'),
    severity=Severity.WARNING,
    sources=("https://github.com/pytorch/pytorch/issues/129119",),
)
_FACTORIES = (
    "torch.zeros",
    "torch.ones",
    "torch.empty",
    "torch.tensor",
    "torch.rand",
    "torch.randn",
    "torch.arange",
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A literal number in `.to(...)`, `torch.device(...)` or `device=` for an old target."""
    assert isinstance(node, ast.Call)
    major, minor = (int(x) for x in ctx.settings.torch_npu.split(".")[:2])
    if (major, minor) >= (2, 4) or not ctx.imports_torch:
        return
    value = None
    path = ctx.called_name(node)
    if path == "torch.device":
        value = argument(node, 0, "device") if len(node.args) + len(node.keywords) == 1 else None
    elif path in _FACTORIES:
        value = next((k.value for k in node.keywords if k.arg == "device"), None)
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        value = argument(node, 0, "device")
    if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= 0:
        edits = () if ctx.settings.portable else (Edit(*ctx.span(value), f'"npu:{value.value}"'),)
        yield change(ctx, node, *edits)


RULE = Rule(
    "NPU139",
    "integer-device",
    _MESSAGE,
    Safety.SAFE,
    (".to(", "device"),
    (ast.Call,),
    run,
    applies=lambda settings: settings.torch_npu.startswith(("2.1.", "2.2.", "2.3.")),
)
