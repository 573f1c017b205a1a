"""`torch.version.cuda` and `hasattr(torch, "cuda")`."""

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

_SOURCE = "https://github.com/Ascend/pytorch"
_MESSAGE = Message(
    title=Text("`{code}` is None without CUDA", "没有 CUDA 时 `{code}` 为 None"),
    cause=Text(
        "converting, splitting or comparing it raises; a test on it is never true",
        "对其转换、拆分或比较会报错；以它为条件的判断永远不成立",
    ),
    fix=Text(
        "ask torch.npu.is_available(), or torch_npu.version for the plugin's release",
        "改用 torch.npu.is_available()，或用 torch_npu.version 查询插件版本",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_HAS = Message(
    title=Text("`{code}` is always true", "`{code}` 始终为真"),
    cause=Text(
        "torch.cuda exists in every build of torch, with or without CUDA",
        "无论是否支持 CUDA，torch 都带有 torch.cuda",
    ),
    fix=Text(
        'ask hasattr(torch, "npu") and torch.npu.is_available()',
        '改为判断 hasattr(torch, "npu") 与 torch.npu.is_available()',
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """The attribute, or the question whether torch has a `cuda`."""
    if isinstance(node, ast.Attribute):
        if ctx.qualified_name(node) == "torch.version.cuda":
            yield change(ctx, node)
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        asks = ctx.called_name(node) == "builtins.hasattr" and ctx.qualified_name(node.args[0]) == "torch"
        if asks and string_of(node.args[1]) == "cuda":
            yield change(ctx, node, message=_HAS)


RULE = Rule(
    "NPU138",
    "cuda-version",
    _MESSAGE,
    Safety.MANUAL,
    ("version.cuda", "hasattr", "import version"),
    (ast.Attribute, ast.Call),
    run,
)
