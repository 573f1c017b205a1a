"""`import torch_npu` where a module uses the NPU."""

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
    Text,
    change,
    import_places,
    imports_npu,
    uses_npu,
)

_MESSAGE = Message(
    title=Text(
        "the module uses the NPU but does not import torch_npu", "模块使用了 NPU，但没有导入 torch_npu"
    ),
    cause=Text(
        "torch.npu exists only after `import torch_npu`; autoloading came with torch 2.5 and can be "
        "switched off",
        "只有 `import torch_npu` 之后才有 torch.npu；自动加载自 torch 2.5 起提供，且可能被关闭",
    ),
    fix=Text("import torch_npu after torch", "在 torch 之后导入 torch_npu"),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Insert the import after torch's own."""
    assert isinstance(node, ast.Module)
    # Only where this run put the NPU in: a module that was written for NPUs knows what it does.
    if ctx.original is ctx or not ctx.imports_torch or imports_npu(ctx) or not uses_npu(ctx):
        return
    for statement, offset, text in import_places(ctx):
        yield change(ctx, statement, Edit(offset, offset, text))


RULE = Rule("NPU105", "torch-npu-not-imported", _MESSAGE, Safety.SAFE, ("cuda", "nccl"), (ast.Module,), run)
