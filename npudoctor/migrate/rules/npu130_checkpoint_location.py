"""`torch.load(path)` of a checkpoint that may have been saved on a GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    ACCELERATOR_WORDS,
    Change,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Text,
    argument,
    change,
    has_spread,
    uses_accelerator,
)

_MESSAGE = Message(
    title=Text("`{code}` does not say where the tensors go", "`{code}` 没有说明张量加载到哪里"),
    cause=Text(
        "a checkpoint saved on a GPU carries cuda:0 and raises where there is no CUDA",
        "在 GPU 上保存的检查点带有 cuda:0 标记，在没有 CUDA 的机器上加载会报错",
    ),
    fix=Text(
        'pass map_location (the device, or "cpu" and move afterwards)',
        '请传入 map_location（目标设备，或先 "cpu" 再搬运）',
    ),
    sources=("https://docs.pytorch.org/docs/stable/generated/torch.load.html",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A call without map_location in a module that had CUDA before this run."""
    assert isinstance(node, ast.Call)
    if ctx.called_name(node) not in ("torch.load", "torch.jit.load") or not uses_accelerator(ctx):
        return
    if argument(node, 1, "map_location") is None and not has_spread(node):
        yield change(ctx, node)


RULE = Rule(
    "NPU130",
    "checkpoint-location",
    _MESSAGE,
    Safety.MANUAL,
    ACCELERATOR_WORDS,
    (ast.Call,),
    run,
)
