"""What still says `cuda` after the rewrite and was not proved to be anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Literal,
    Message,
    ModuleContext,
    Role,
    Rule,
    Safety,
    Severity,
    Text,
    can_pick,
    carrier,
    change,
    is_chain_end,
    is_torch_project,
    lists_both,
    literals,
    other_side,
    role_of,
    string_of,
)

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-cuda.md"
)
_MESSAGE = Message(
    title=Text("{code} may still name a CUDA device", "{code} 可能仍指 CUDA 设备"),
    cause=Text(
        "nothing proves that it reaches torch, so it stayed; if it does, placing a tensor there raises, "
        "and a test against it is silently never true",
        "无法证明它会传给 torch，因此保持原样；若会传入，则放置张量时报错，与之比较则悄悄不成立",
    ),
    fix=Text(
        "look where the value goes; make it npu if it is a device", "请确认该值的去向；若为设备名，请改为 npu"
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_DYNAMIC = Message(
    title=Text(
        "`{code}` reaches into torch.cuda by a computed name", "`{code}` 以计算得到的名称访问 torch.cuda"
    ),
    cause=Text("which name it is shows only at run time", "具体名称只有运行时才知道"),
    fix=Text("take torch.npu where the device is an NPU", "设备为 NPU 时请改用 torch.npu"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


_ERROR_TEXT = Message(
    title=Text("{code} is not in the message of an NPU's error", "NPU 的报错信息中不含 {code}"),
    cause=Text(
        "torch_npu writes NPU out of memory, so a handler that looks for CUDA's words is silently skipped",
        "torch_npu 的报错为 NPU out of memory；按 CUDA 字样判断的处理分支会被悄悄跳过",
    ),
    fix=Text(
        "catch torch.OutOfMemoryError, or look for words that both have: out of memory",
        "请捕获 torch.OutOfMemoryError，或匹配两者共有的文字：out of memory",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/torch_npu/csrc/core/npu/NPUCachingAllocator.cpp",
    ),
)
_CUDA_ERROR = re.compile(r"CUDA (?:out of memory|error)")
_STAR = Message(
    title=Text("`{code}` may come from a star import", "`{code}` 可能来自星号导入"),
    cause=Text(
        "`from torch import *` hides where the name comes from, so it was not changed",
        "`from torch import *` 使名称来源不明，因此未作修改",
    ),
    fix=Text("import the names you use, then migrate again", "请显式导入所用名称，然后重新迁移"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Literals of unknown role, and `torch.cuda` used as an object."""
    if not is_torch_project(ctx):
        return
    for literal in literals(ctx):
        if literal.word == "cuda" and _left_over(ctx, literal):
            yield change(ctx, literal.node)
    for compare in ctx.nodes(ast.Compare):
        text = string_of(compare.left) or ""
        if isinstance(compare.ops[0], (ast.In, ast.NotIn)) and _CUDA_ERROR.search(text):
            yield change(ctx, compare.left, message=_ERROR_TEXT)
    if any(star.split(".")[0] == "torch" for star in ctx.names.star_imports):
        for name in ctx.nodes(ast.Name):
            if name.id == "cuda" and not ctx.bindings(name):
                yield change(ctx, ctx.parent(name) or name, message=_STAR)
    for attribute in ctx.nodes(ast.Attribute):
        if (
            attribute.attr == "cuda"
            and ctx.qualified_name(attribute) == "torch.cuda"
            and is_chain_end(ctx, attribute)
        ):
            yield change(ctx, ctx.parent(attribute) or attribute, message=_DYNAMIC)


def _left_over(ctx: ModuleContext, literal: Literal) -> bool:
    if lists_both(ctx, literal.node):
        return False
    role = role_of(ctx, literal.node)
    if role is Role.UNKNOWN:
        return True
    if role is Role.COMPARISON:  # one with a device-like name is reported where it is judged
        side = other_side(ctx, literal)
        return side is not None and carrier(ctx, side) is None
    return role is Role.PRODUCER and ctx.settings.portable and not can_pick(ctx)


RULE = Rule(
    "NPU150",
    "cuda-residue",
    _MESSAGE,
    Safety.MANUAL,
    ("cuda", "CUDA out of memory", "CUDA error"),
    (ast.Module,),
    run,
)
