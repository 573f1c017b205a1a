"""Environment variables of CUDA that the program sets or reads itself."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from npudoctor import tables
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
    is_torch_project,
    string_of,
)

VISIBLE, NEW_VISIBLE = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"
_MESSAGE = Message(
    title=Text("the variable {name} means nothing to an NPU process", "变量 {name} 对 NPU 进程不起作用"),
    cause=Text("torch_npu and CANN read {new} instead", "torch_npu 与 CANN 读取的是 {new}"),
    fix=Text("use {new}", "改用 {new}"),
)
_VALUE = Message(
    title=Text("{new} would not understand the value {code}", "{new} 无法识别取值 {code}"),
    cause=Text(
        "only ascending digits separated by commas are understood; anything else leaves no device",
        "只接受以逗号分隔的升序数字；其他写法会使可用设备为 0",
    ),
    fix=Text("choose ascending device numbers, then rename the variable", "请改为升序设备号，再改变量名"),
    severity=Severity.WARNING,
)


_SEVERAL = Message(
    title=_MESSAGE.title,
    cause=Text(
        "the module handles the variables of several vendors; {new} is one more case, not a replacement",
        "该模块同时处理多家厂商的变量；{new} 应作为新增情形，而不是替换",
    ),
    fix=Text("add a case for {new}", "请为 {new} 增加一种情形"),
    severity=Severity.WARNING,
)
_OTHER_VENDORS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


@functools.cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    return {row["name"]: row for row in tables.load("migrate_environment").rows}


@functools.cache
def _report(name: str) -> Message:
    """The words of one row that is only reported."""
    row = _rows()[name]
    en = row["note"] or f"the counterpart is {row['counterpart']}"
    zh = row["note_zh"] or f"对应变量为 {row['counterpart']}"
    en, zh = (t.replace("{", "{{").replace("}", "}}") for t in (en, zh))
    return Message(_MESSAGE.title, Text(en, zh), Text(en, zh), Severity.NOTE, (row["source_url"],))


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One string that is exactly the name of a variable."""
    assert isinstance(node, ast.Constant)
    name = string_of(node)
    if name is None or not (name == VISIBLE or name in _rows()):
        return
    if isinstance(ctx.parent(node), (ast.Expr, ast.JoinedStr)) or not is_torch_project(ctx):
        return
    if name != VISIBLE and _rows()[name]["treatment"] != "rename":
        yield change(ctx, node, message=_report(name), name=name)
        return
    new = NEW_VISIBLE if name == VISIBLE else _rows()[name]["counterpart"]
    if new in ctx.original.source or (ctx.settings.portable and new in ctx.text(ctx.statement(node))):
        return  # the module speaks of both: it chooses itself
    if any(other in ctx.source for other in _OTHER_VENDORS):
        yield change(ctx, node, message=_SEVERAL, name=name, new=new)
        return
    bad = _bad_value(ctx, node) if name == VISIBLE else None
    if bad is not None:
        yield change(ctx, bad, message=_VALUE, name=name, new=new)
    else:
        yield change(ctx, node, *_edits(ctx, node, name, new), name=name, new=new)


def _bad_value(ctx: ModuleContext, node: ast.Constant) -> ast.expr | None:
    """The literal value given to the variable here, if torch_npu would not understand it."""
    value = _value(ctx, node)
    text = string_of(value)
    if text is None or text in ("", "-1"):
        return None
    numbers = [int(part) for part in text.split(",") if part.strip().isdigit()]
    good = len(numbers) == len(text.split(",")) and sorted(set(numbers)) == numbers
    return None if good else value


def _value(ctx: ModuleContext, node: ast.Constant) -> ast.expr | None:
    above = ctx.parent(node)
    if isinstance(above, ast.Dict) and node in above.keys:
        return above.values[above.keys.index(node)]
    if isinstance(above, ast.Call) and len(above.args) > 1 and above.args[0] is node:
        return above.args[1]
    if isinstance(above, ast.Subscript):
        statement = ctx.parent(above)
        return statement.value if isinstance(statement, ast.Assign) else None
    return None


def _edits(ctx: ModuleContext, node: ast.Constant, name: str, new: str) -> list[Edit]:
    start, end = ctx.span(node)
    text = ctx.text(node)
    if text.count(name) != 1:
        return []
    twin = text.replace(name, new)
    if not ctx.settings.portable:
        return [Edit(start, end, twin)]
    return _both(ctx, node, twin)


def _both(ctx: ModuleContext, node: ast.Constant, twin: str) -> list[Edit]:
    """`env["CUDA..."] = v` -> `env["ASCEND..."] = env["CUDA..."] = v`, once."""
    target = ctx.parent(node)
    statement = ctx.parent(target) if target is not None else None
    if not isinstance(target, ast.Subscript) or not isinstance(statement, ast.Assign):
        return []
    if len(statement.targets) != 1:
        return []
    start, end = ctx.span(target)
    at = ctx.span(node)
    second = ctx.source[start : at[0]] + twin + ctx.source[at[1] : end]
    return [Edit(start, start, f"{second} = ")]


RULE = Rule(
    "NPU109",
    "cuda-environment",
    _MESSAGE,
    Safety.SAFE,
    ("CUDA_", "NCCL_", "CUBLAS_", "NVIDIA_"),
    (ast.Constant,),
    run,
)
