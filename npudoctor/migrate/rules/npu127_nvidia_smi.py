"""Calls of `nvidia-smi` from the program."""

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
    string_of,
)

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-cuda.md"
)
_MESSAGE = Message(
    title=Text("{code} asks the NVIDIA driver", "{code} 查询的是 NVIDIA 驱动"),
    cause=Text(
        "there is no nvidia-smi on an NPU machine, and npu-smi prints another table",
        "NPU 机器上没有 nvidia-smi，而 npu-smi 的输出格式不同",
    ),
    fix=Text(
        "use torch.npu.mem_get_info() or torch.npu.utilization(), or parse npu-smi info",
        "改用 torch.npu.mem_get_info()、torch.npu.utilization()，或解析 npu-smi info",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_RUNNERS = ("subprocess.", "os.system", "os.popen", "shutil.which", "builtins.len")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A command that starts with nvidia-smi, as a string or as the first of a list."""
    assert isinstance(node, ast.Constant)
    text = string_of(node)
    if text is None or not text.lstrip().startswith("nvidia-smi") or isinstance(ctx.parent(node), ast.Expr):
        return
    for above in ctx.ancestors(node):
        if isinstance(above, ast.Call) and (ctx.called_name(above) or "").startswith(_RUNNERS):
            yield change(ctx, node)
            return
        if isinstance(above, ast.stmt):
            break
    holder = ctx.parent(node)
    if isinstance(holder, (ast.Assign, ast.List)) and (text.strip() == "nvidia-smi" or " -" in text):
        yield change(ctx, node)


RULE = Rule("NPU127", "nvidia-smi", _MESSAGE, Safety.MANUAL, ("nvidia-smi",), (ast.Constant,), run)
