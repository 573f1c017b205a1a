"""The run-time shim `transfer_to_npu`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Severity, Text, change

_MESSAGE = Message(
    title=Text("transfer_to_npu is active in this program", "程序启用了 transfer_to_npu"),
    cause=Text(
        "the shim makes torch.cuda.is_available() True, so libraries choose their CUDA path; it switches "
        "torch.jit.script off in the whole process and rewrites every text argument that contains cuda, "
        "paths included",
        "该补丁使 torch.cuda.is_available() 返回 True，其他库会走 CUDA 分支；它会在整个进程内停用 "
        "torch.jit.script，并改写所有包含 cuda 的文本参数，包括路径",
    ),
    fix=Text("remove the import once the code names the NPU itself", "代码直接使用 NPU 之后，请删除该导入"),
    severity=Severity.WARNING,
    sources=("https://github.com/huggingface/accelerate/issues/3020",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """The import in either spelling."""
    if isinstance(node, ast.ImportFrom):
        shim = node.module == "torch_npu.contrib.transfer_to_npu" or (
            node.module == "torch_npu.contrib" and any(a.name == "transfer_to_npu" for a in node.names)
        )
    else:
        assert isinstance(node, ast.Import)
        shim = any(a.name == "torch_npu.contrib.transfer_to_npu" for a in node.names)
    if shim:
        yield change(ctx, node)


RULE = Rule(
    "NPU126",
    "transfer-to-npu",
    _MESSAGE,
    Safety.MANUAL,
    ("transfer_to_npu",),
    (ast.Import, ast.ImportFrom),
    run,
    also_dual=True,
)
