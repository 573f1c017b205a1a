"""Tests for the word `cuda`: `device.type == "cuda"`, `"cuda" in str(device)`, `cfg.device == "cuda"`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
    Change,
    Edit,
    Literal,
    Message,
    ModuleContext,
    Role,
    Rule,
    Safety,
    Severity,
    Text,
    carrier,
    change,
    is_device,
    is_fed,
    is_torch_project,
    lists_both,
    literals,
    other_side,
    role_of,
)

_SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
_MESSAGE = Message(
    title=Text("the test for {code} is never true on an NPU", "对 {code} 的判断在 NPU 上永远不成立"),
    cause=Text(
        "the device is called npu there, so the branch is skipped without a word",
        "NPU 上的设备名为 npu，该分支会被悄悄跳过",
    ),
    fix=Text("compare with the NPU's name", "与 NPU 的设备名比较"),
    sources=(_SOURCE,),
)
_UNFED = Message(
    title=Text(
        "nothing found that sets the device compared with {code}", "找不到为该比较（{code}）提供设备值的地方"
    ),
    cause=Text(
        "the test has to move together with the default or configuration that feeds it, "
        "and none of the files given sets one to a CUDA device",
        "该判断必须与提供其值的默认值或配置一起修改，而给定的文件中没有任何一处将其设为 CUDA 设备",
    ),
    fix=Text(
        "migrate the whole project at once, or change the test where the device name is chosen",
        "请一次迁移整个工程，或在选择设备名的地方一并修改该判断",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Move each comparison whose other side is torch's, or is fed by a default that moves too."""
    if not is_torch_project(ctx):
        return
    for literal in literals(ctx):
        if literal.word != "cuda" or role_of(ctx, literal.node) is not Role.COMPARISON:
            continue
        side = other_side(ctx, literal)
        if side is None:
            continue
        name = carrier(ctx, side)
        if is_device(ctx, side) or (name is not None and is_fed(ctx, name)):
            if not (ctx.settings.portable and lists_both(ctx, literal.node)):
                yield change(ctx, literal.node, *_edit(ctx, literal))
        elif name is not None:
            yield change(ctx, literal.node, message=_UNFED)


def _edit(ctx: ModuleContext, literal: Literal) -> list[Edit]:
    if not ctx.settings.portable:
        return [Edit(literal.start, literal.end, "npu")]
    if literal.fstring:
        return []
    start, end = ctx.span(literal.node)
    text = ctx.text(literal.node)
    at = literal.start - start
    twin = text[:at] + "npu" + text[literal.end - start :]
    above = ctx.parent(literal.node)
    if isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        return [Edit(end, end, f", {twin}")]
    if isinstance(above, ast.Call):
        return [Edit(start, end, f"({text}, {twin})")]
    if type(above).__name__ == "MatchValue":
        return [Edit(end, end, f" | {twin}")]
    assert isinstance(above, ast.Compare)
    return _compare(ctx, above, literal, f"({text}, {twin})")


def _compare(ctx: ModuleContext, compare: ast.Compare, literal: Literal, pair: str) -> list[Edit]:
    """`x == "cuda"` -> `x in ("cuda", "npu")`."""
    if len(compare.ops) != 1:
        return []
    if compare.left is literal.node:
        return _contained(ctx, compare, pair)
    words = {ast.Eq: "in", ast.NotEq: "not in"}
    word = words.get(type(compare.ops[0]))
    if word is None:
        return []
    left, right = ctx.span(compare.left)[1], ctx.span(literal.node)[0]
    between = ctx.source[left:right]
    old = "==" if word == "in" else "!="
    if between.count(old) != 1 or "#" in between:
        return []
    return [Edit(left, ctx.span(literal.node)[1], between.replace(old, word) + pair)]


def _contained(ctx: ModuleContext, compare: ast.Compare, pair: str) -> list[Edit]:
    """`"cuda" in str(device)` -> `any(kind in str(device) for kind in ("cuda", "npu"))`."""
    text = ctx.source[ctx.span(compare.left)[1] : ctx.span(compare)[1]].strip()
    used = {name.id for name in ctx.nodes(ast.Name)}
    if not isinstance(compare.ops[0], (ast.In, ast.NotIn)) or "kind" in used or "#" in text:
        return []
    word = "not any" if isinstance(compare.ops[0], ast.NotIn) else "any"
    text = text[len("not") :].strip() if word != "any" else text
    new = f"{word}(kind {text} for kind in {pair})"
    return [Edit(*ctx.span(compare), new if word == "any" else portable.bracketed(ctx, compare, new))]


RULE = Rule("NPU106", "cuda-comparison", _MESSAGE, Safety.SAFE, ("cuda",), (ast.Module,), run)
