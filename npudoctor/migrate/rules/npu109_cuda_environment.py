"""Environment variables of CUDA that the program sets or reads itself."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

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
    keyword_of,
    string_of,
)

VISIBLE, NEW_VISIBLE = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"
_SOURCE = "https://github.com/Ascend/pytorch/blob/master/torch_npu/npu/__init__.py"
_MESSAGE = Message(
    title=Text("the variable {name} means nothing to an NPU process", "变量 {name} 对 NPU 进程不起作用"),
    cause=Text("torch_npu and CANN read {new} instead", "torch_npu 与 CANN 读取的是 {new}"),
    fix=Text("use {new}", "改用 {new}"),
    sources=(_SOURCE,),
)
_VALUE = Message(
    title=Text("{new} would not understand the value {code}", "{new} 无法识别取值 {code}"),
    cause=Text(
        "only ascending digits separated by commas are understood; anything else leaves no device",
        "只接受以逗号分隔的升序数字；其他写法会使可用设备为 0",
    ),
    fix=Text("choose ascending device numbers, then rename the variable", "请改为升序设备号，再改变量名"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


_SEVERAL = Message(
    title=_MESSAGE.title,
    cause=Text(
        "the module handles the variables of several vendors; {new} is one more case, not a replacement",
        "该模块同时处理多家厂商的变量；{new} 应作为新增情形，而不是替换",
    ),
    fix=Text("add a case for {new}", "请为 {new} 增加一种情形"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_COMMAND = Message(
    title=Text(
        "a command sets {name}, which an NPU process does not read", "命令设置了 {name}，而 NPU 进程不读取它"
    ),
    cause=_MESSAGE.cause,
    fix=_MESSAGE.fix,
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_SHELL = re.compile(rf"(^|\s){VISIBLE}=")
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


def _for(name: str, message: Message) -> Message:
    """`message` with the source of the variable's own row, where it has one."""
    return message if name == VISIBLE else replace(message, sources=(_rows()[name]["source_url"],))


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One string that is exactly the name of a variable, or `dict(os.environ, CUDA_VISIBLE_DEVICES="0")`."""
    if isinstance(node, ast.keyword):
        yield from _keyword(ctx, node)
        return
    assert isinstance(node, ast.Constant)
    name = string_of(node)
    if name is not None and _SHELL.search(name) and _in_command(ctx, node):
        yield change(ctx, node, message=_COMMAND, name=VISIBLE, new=NEW_VISIBLE)
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
        yield change(ctx, node, message=_for(name, _SEVERAL), name=name, new=new)
        return
    bad = _bad_value(ctx, node) if name == VISIBLE else None
    if bad is not None:
        yield change(ctx, bad, message=_VALUE, name=name, new=new)
    else:
        edits = _edits(ctx, node, name, new)
        yield change(ctx, node, *edits, message=_for(name, _MESSAGE), name=name, new=new)


def _keyword(ctx: ModuleContext, node: ast.keyword) -> Iterator[Change]:
    call = ctx.parent(node)
    if node.arg != VISIBLE or not isinstance(call, ast.Call) or not is_torch_project(ctx):
        return
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    environment = ctx.called_name(call) == "builtins.dict" or method == "update"
    if not environment or NEW_VISIBLE in ctx.original.source or keyword_of(call, NEW_VISIBLE):
        return
    if not _understood(string_of(node.value)):
        yield change(ctx, node.value, message=_VALUE, name=VISIBLE, new=NEW_VISIBLE)
    else:
        edits = _keyword_edits(ctx, node, ctx.span(call)[0])
        message = _MESSAGE if edits else replace(_MESSAGE, severity=Severity.WARNING)
        yield change(ctx, node.value, *edits, message=message, name=VISIBLE, new=NEW_VISIBLE)


def _keyword_edits(ctx: ModuleContext, node: ast.keyword, call_start: int) -> list[Edit]:
    """Another keyword, in portable style one more where the value is a literal."""
    start, end = ctx.span(node.value)
    if ctx.settings.portable:
        literal = isinstance(node.value, ast.Constant)
        return [Edit(end, end, f", {NEW_VISIBLE}={ctx.text(node.value)}")] if literal else []
    at = ctx.source.rfind(VISIBLE, call_start, start)
    plain = ctx.source[at + len(VISIBLE) : start].strip() == "="
    return [Edit(at, at + len(VISIBLE), NEW_VISIBLE)] if plain else []


def _in_command(ctx: ModuleContext, node: ast.Constant) -> bool:
    """Whether the string is given to a call that may run it, and not to one that shows it."""
    for above in ctx.ancestors(node):
        if isinstance(above, ast.Call):
            path = ctx.called_name(above) or ""
            return path.startswith(("os.system", "os.popen", "subprocess."))
        if isinstance(above, ast.stmt):
            return False
    return False


def _bad_value(ctx: ModuleContext, node: ast.Constant) -> ast.expr | None:
    """The literal value given to the variable here, if torch_npu would not understand it."""
    value = _value(ctx, node)
    return None if _understood(string_of(value)) else value


def _understood(text: str | None) -> bool:
    """Whether torch_npu understands a literal value; one that is no literal may be anything."""
    if text is None or text in ("", "-1"):
        return True
    numbers = [int(part) for part in text.split(",") if part.strip().isdigit()]
    return len(numbers) == len(text.split(",")) and sorted(set(numbers)) == numbers


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
    (ast.Constant, ast.keyword),
    run,
)
