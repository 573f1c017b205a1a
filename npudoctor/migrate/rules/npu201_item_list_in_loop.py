"""`xs.append(loss.item())` in a loop -> keep the tensors, read them back once after the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text
from npudoctor.migrate.sync.collected import collected
from npudoctor.migrate.sync.words import SOURCE_SCALAR, by_heat

_TITLE = by_heat(
    "`{code}` waits for the device <when> to fill the list `{name}`",
    "`{code}` <when>等待设备，以填充列表 `{name}`",
)
_CAUSE = Text(
    "each scalar read drains the task queue and the stream, then copies one number; "
    "the list is only used after the loop",
    "每次标量读取都会排空任务队列和流，再拷贝一个数；而该列表只在循环之后使用",
)
_FIX = Text(
    "keep the detached tensors in the list and read them all with one stack(...).tolist() after the loop: "
    "the same numbers to the last bit",
    "在列表中保存 detach 后的张量，循环结束后用一次 stack(...).tolist() 全部读回：数值逐位相同",
)
_LEFT_FIX = Text(
    "if the list is only used after the loop, keep `{tensor}.detach()` in it (with .clone() if the tensor is "
    "written to later) and read all of it after the loop: `{name} = torch.stack({name}).tolist()`; else read "
    "less often",
    "若该列表只在循环之后使用，请在其中保存 `{tensor}.detach()`（张量之后会被改写时再加 .clone()），"
    "循环后一次读回：`{name} = torch.stack({name}).tolist()`；否则请降低读取频率",
)
_MESSAGE = Message(
    Text("a scalar read fills a list in a loop", "循环中用标量读取填充列表"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_SCALAR,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every list that is filled by scalar reads."""
    del node
    return collected(ctx, "NPU201", False, (_TITLE, _CAUSE, _FIX, _LEFT_FIX, _FIX))


RULE = Rule(
    "NPU201",
    "item-list-in-loop",
    _MESSAGE,
    Safety.SAFE,
    (".item(", "float("),
    (ast.Module,),
    run,
    also_dual=True,
)
