"""`memory_format=torch.channels_last`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Severity, Text, change

_MESSAGE = Message(
    title=Text("`{code}` is not supported on NPUs", "NPU 不支持 `{code}`"),
    cause=Text(
        "tensors on an NPU take contiguous_format only; the layout that helps cuDNN does not help here",
        "NPU 上的张量只支持 contiguous_format；有利于 cuDNN 的布局在此没有帮助",
    ),
    fix=Text(
        "remove the memory format, or use torch.contiguous_format where the device is an NPU",
        "去掉内存格式，或在设备为 NPU 时使用 torch.contiguous_format",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://www.hiascend.com/document/detail/en/mindstudio/830/TITools/migrationtoolpt/"
        "atlasfmkt_16_0019.html",
    ),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Report the name wherever it is used."""
    assert isinstance(node, ast.Attribute)
    if ctx.qualified_name(node) in ("torch.channels_last", "torch.channels_last_3d"):
        yield change(ctx, node)


RULE = Rule("NPU118", "channels-last", _MESSAGE, Safety.MANUAL, ("channels_last",), (ast.Attribute,), run)
