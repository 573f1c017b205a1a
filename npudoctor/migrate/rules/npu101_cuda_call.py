"""`x.cuda(...)` -> `x.npu(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Kind,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Text,
    change,
)

_MESSAGE = Message(
    title=Text("`{code}` moves to a CUDA device", "`{code}` 会移动到 CUDA 设备"),
    cause=Text(
        "there is no CUDA device on an NPU machine, so the call raises",
        "NPU 机器上没有 CUDA 设备，该调用会报错",
    ),
    fix=Text("call .npu() with the same arguments", "改为调用 .npu()，参数不变"),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Rename the method of a `.cuda(...)` call on a value that can only be torch's."""
    assert isinstance(node, ast.Call)
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "cuda" or not ctx.imports_torch:
        return
    if ctx.qualified_name(func) is not None:
        return  # a function of some module: numba.cuda(...), torch.cuda is no function
    if ctx.kind(func.value) not in (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN):
        return
    _, end = ctx.span(func)
    yield change(ctx, node, Edit(end - len("cuda"), end, "npu"))


RULE = Rule("NPU101", "cuda-call", _MESSAGE, Safety.SAFE, (".cuda",), (ast.Call,), run)
