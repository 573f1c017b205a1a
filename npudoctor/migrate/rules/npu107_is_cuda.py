"""`tensor.is_cuda` -> `tensor.is_npu`."""

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
    Severity,
    Text,
    change,
)

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-Tensor.md"
)
_MESSAGE = Message(
    title=Text("`{code}` is always False on an NPU", "`{code}` 在 NPU 上始终为 False"),
    cause=Text(
        "the tensor is on an NPU, so the branch is skipped without a word",
        "张量在 NPU 上，该分支会被悄悄跳过",
    ),
    fix=Text("ask for the NPU", "改为判断是否在 NPU 上"),
    sources=(_SOURCE,),
)


_KERNEL = Message(
    title=Text("`{code}` guards a GPU kernel", "`{code}` 决定是否调用 GPU 核函数"),
    cause=Text(
        "the module holds Triton kernels written for a GPU; saying npu here would let one run there",
        "该模块包含面向 GPU 的 Triton 核函数；改为 npu 会让其在 NPU 上运行",
    ),
    fix=Text(
        "keep it, so that the fallback is taken, until the kernel is ported to triton-ascend",
        "在将核函数移植到 triton-ascend 之前请保持不变，以便走后备实现",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Rename the attribute where the module does not define one of that name itself."""
    assert isinstance(node, ast.Attribute)
    if node.attr != "is_cuda" or not isinstance(node.ctx, ast.Load) or not ctx.imports_torch:
        return
    own = any(n.attr == "is_cuda" and isinstance(n.ctx, ast.Store) for n in ctx.nodes(ast.Attribute))
    defined = any(f.name == "is_cuda" for f in ctx.nodes(ast.FunctionDef))
    if own or defined or ctx.qualified_name(node) is not None:
        return
    if "triton" in ctx.imported_roots:
        yield change(ctx, node, message=_KERNEL)
        return
    start, end = ctx.span(node)
    if not ctx.settings.portable:
        yield change(ctx, node, Edit(end - len("is_cuda"), end, "is_npu"))
    else:
        quote = portable.quote_for(ctx, node)
        names = f"({quote}cuda{quote}, {quote}npu{quote})"
        yield change(ctx, node, Edit(start, end, f"({ctx.text(node.value)}.device.type in {names})"))


RULE = Rule("NPU107", "is-cuda", _MESSAGE, Safety.SAFE, ("is_cuda",), (ast.Attribute,), run)
