"""Data loaders that pin memory for CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Text,
    can_pick,
    change,
    has_spread,
    is_true,
    keyword_of,
)

_MESSAGE = Message(
    title=Text("`{name}` pins memory for CUDA", "`{name}` 按 CUDA 锁页"),
    cause=Text(
        "without pin_memory_device the pinning thread asks torch.cuda for its current device "
        "(torch's own DataLoader up to 2.4, torchdata's StatefulDataLoader)",
        "未指定 pin_memory_device 时，锁页线程会向 torch.cuda 查询当前设备"
        "（torch 2.4 及以前的 DataLoader，以及 torchdata 的 StatefulDataLoader）",
    ),
    fix=Text('add pin_memory_device="npu"', '增加 pin_memory_device="npu"'),
    sources=("https://github.com/verl-project/verl/pull/2871",),
)
_STATEFUL = "torchdata.stateful_dataloader.StatefulDataLoader"
_PLAIN = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Add the device to a loader that pins memory and does not say for which."""
    assert isinstance(node, ast.Call)
    path = ctx.called_name(node)
    if path != _STATEFUL and not (path in _PLAIN and _is_old(ctx)):
        return
    pin = keyword_of(node, "pin_memory")
    if pin is None or not is_true(pin.value) or keyword_of(node, "pin_memory_device") or has_spread(node):
        return
    if ctx.settings.portable and not can_pick(ctx):
        return
    value = '"npu"'
    if ctx.settings.portable:  # empty is the default: what the loader did before
        value = portable.choice(value, '""')
    end = ctx.span(pin)[1]
    name = (path or "").rsplit(".", 1)[-1]
    yield change(ctx, node, Edit(end, end, f", pin_memory_device={value}"), name=name)


def _is_old(ctx: ModuleContext) -> bool:
    """torch 2.5 asks the accelerator itself; later releases deprecate the parameter."""
    major, minor = (int(x) for x in ctx.settings.torch_npu.split(".")[:2])
    return (major, minor) < (2, 5)


RULE = Rule("NPU114", "pin-memory-device", _MESSAGE, Safety.SAFE, ("pin_memory",), (ast.Call,), run)
