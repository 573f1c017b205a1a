"""`t[mb]` on several device tensors with one NumPy index -> upload the index once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat(
    "the NumPy index `{name}` indexes device tensors at {reads} places and is uploaded at each, <when>",
    "NumPy 索引 `{name}` 在 {reads} 处索引设备张量，每处都上传一次（<often>）",
)
_CAUSE = Text(
    "indexing a device tensor with a NumPy array copies the index to the device each time, "
    "and on an NPU every blocking copy also drains the stream",
    "用 NumPy 数组索引设备张量时，每次都会把索引拷贝到设备；在 NPU 上每次阻塞拷贝还会排空流",
)
_FIX = Text(
    "make it a tensor on the device once: the same elements are selected",
    "只在设备上创建一次索引张量：选取的元素完全相同",
)
_LEFT_FIX = Text(
    "convert the index once where it is made: `{name} = torch.as_tensor({value}, device=...)`, with the "
    "device of the tensors it selects from",
    "请在生成索引处转换一次：`{name} = torch.as_tensor({value}, device=...)`，设备与被索引的张量一致",
)
_MESSAGE = Message(
    Text("a NumPy index is uploaded at every use", "NumPy 索引在每次使用时都被上传"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_COPY,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every NumPy index that is used on two or more tensors."""
    del node
    analysis = analyse(ctx)
    for upload in analysis.uploads:
        heat = analysis.loops.paced(upload.assign)
        params: dict[str, Any] = {"name": upload.name, "reads": len(upload.uses), "heat": heat.value}
        params["syncs"] = len(upload.uses) - 1
        params["value"] = ctx.text(upload.assign.value)[:60]
        if upload.refusal is not None:
            told = message(_TITLE[heat], upload.refusal, _LEFT_FIX, heat, SOURCE_COPY)
            yield change(ctx, upload.assign, message=told, **params)
            continue
        told = message(_TITLE[heat], _CAUSE, _FIX, heat, SOURCE_COPY)
        start, end = ctx.span(upload.assign.value)
        text = f"{upload.torch}.as_tensor({ctx.source[start:end]}, device={upload.device})"
        yield change(ctx, upload.assign, Edit(start, end, text), message=told, **params)


RULE = Rule(
    "NPU203",
    "numpy-index-reused",
    _MESSAGE,
    Safety.SAFE,
    ("arange(", "permutation("),
    (ast.Module,),
    run,
    also_dual=True,
)
