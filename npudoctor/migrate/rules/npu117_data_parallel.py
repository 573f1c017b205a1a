"""`nn.DataParallel`: several cards in one process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Severity, Text, change

_MESSAGE = Message(
    title=Text("`{code}` does not work on NPUs", "`{code}` 不支持 NPU"),
    cause=Text(
        "torch_npu's list marks DataParallel unsupported on every product; without CUDA it wraps nothing "
        "and says nothing",
        "torch_npu 的支持清单标注所有产品均不支持 DataParallel；没有 CUDA 时它不会报错，但也不起作用",
    ),
    fix=Text(
        "one process per card with DistributedDataParallel, or the plain module on one card",
        "每卡一个进程并使用 DistributedDataParallel，或在单卡上直接使用原模块",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-nn.md",
    ),
)
_NAMES = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Report a construction; an isinstance test is not one."""
    assert isinstance(node, ast.Call)
    if ctx.called_name(node) in _NAMES:
        yield change(ctx, node)


RULE = Rule(
    "NPU117", "data-parallel", _MESSAGE, Safety.MANUAL, ("DataParallel", "data_parallel"), (ast.Call,), run
)
