"""Optimizers with kernels that only CUDA has: `fused=True`, `capturable=True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    is_true,
)

_MESSAGE = Message(
    title=Text("`{code}` selects a CUDA kernel of the optimizer", "`{code}` 选择的是优化器的 CUDA 算子"),
    cause=Text(
        "fused and capturable optimizers are written for CUDA; elsewhere the constructor or the first "
        "step may raise",
        "fused 与 capturable 优化器针对 CUDA 实现；在其他设备上构造或首步可能报错",
    ),
    fix=Text(
        "leave it out on an NPU; torch_npu.optim has fused optimizers of its own, with other rules",
        "在 NPU 上去掉该选项；torch_npu.optim 提供另有约束的融合优化器",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-optim.md",
    ),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """The keyword in a call of torch.optim."""
    assert isinstance(node, ast.keyword)
    if node.arg not in ("fused", "capturable") or not is_true(node.value):
        return
    call = ctx.parent(node)
    if call is not None and (ctx.called_name(call) or "").startswith("torch.optim."):
        yield change(ctx, node)


RULE = Rule(
    "NPU137", "cuda-optimizer-option", _MESSAGE, Safety.MANUAL, ("fused", "capturable"), (ast.keyword,), run
)
