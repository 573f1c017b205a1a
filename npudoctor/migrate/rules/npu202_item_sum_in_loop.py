"""`total += loss.item()` in a loop -> collect the tensors, add the numbers on the host after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text
from npudoctor.migrate.sync.collected import collected
from npudoctor.migrate.sync.words import SOURCE_SCALAR, by_heat

_TITLE = by_heat(
    "`{code}` waits for the device <when> to add to `{name}`", "`{code}` <when>等待设备，以累加到 `{name}`"
)
_CAUSE = Text(
    "each scalar read drains the task queue and the stream, then copies one number; "
    "the sum is only used after the loop",
    "每次标量读取都会排空任务队列和流，再拷贝一个数；而该累加值只在循环之后使用",
)
_FIX = Text(
    "collect the detached tensors, read them back once after the loop and add them on the host in the same "
    "order; adding tensors on the device would round to another number",
    "收集 detach 后的张量，循环结束后一次读回，并在主机上按相同顺序相加；"
    "在设备上累加张量会得到不同的舍入结果",
)
_UNSAFE_FIX = Text(
    "collect the detached tensors, read them back once after the loop and add them on the host in the same "
    "order. `{name}` is an attribute: an object elsewhere that looks at it while the loop runs, or after an "
    "exception left the loop, would miss the parts, so this is applied with --unsafe-fixes only",
    "收集 detach 后的张量，循环结束后一次读回，并在主机上按相同顺序相加。`{name}` 是属性：若其他对象在循环"
    "运行期间或循环因异常中止后读取它，会缺少这些部分，因此仅在 --unsafe-fixes 时应用",
)
_LEFT_FIX = Text(
    "if the sum is only used after the loop, collect `{tensor}.detach()` in a list `parts` and add the "
    "numbers after the loop in the same order: `for part in torch.stack(parts).tolist(): {name} {sign} part`",
    "若该累加值只在循环之后使用，请将 `{tensor}.detach()` 收集到列表 `parts`，循环后按相同顺序相加："
    "`for part in torch.stack(parts).tolist(): {name} {sign} part`",
)
_MESSAGE = Message(
    Text("a scalar read feeds a running sum in a loop", "循环中用标量读取做累加"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_SCALAR,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every running sum of scalar reads."""
    del node
    return collected(ctx, "NPU202", True, (_TITLE, _CAUSE, _FIX, _LEFT_FIX, _UNSAFE_FIX))


RULE = Rule(
    "NPU202",
    "item-sum-in-loop",
    _MESSAGE,
    Safety.SAFE,
    (".item(", "float("),
    (ast.Module,),
    run,
    also_dual=True,
)
