"""Calls that read a device value inside: GradScaler.step, one_hot without num_classes, ..."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.hidden import HIDDEN
from npudoctor.migrate.sync.words import by_heat, message

_TITLE = by_heat("`{code}` reads a device value inside <when>", "`{code}` 内部<when>读取设备值")
_CAUSE = Text(
    "the call looks at the data on the host before it goes on: one wait each time",
    "该调用会先在主机上查看数据才继续：每次等待一次",
)
_FIX = Text(
    "count on the host where the data came from, or use an operation whose size does not depend on the data",
    "在数据来源的主机上计数，或改用结果大小不取决于数据的运算",
)
_BY_CALL = {
    "step": (
        Text(
            "GradScaler.step asks the device whether a gradient overflowed: one wait per optimizer step",
            "GradScaler.step 要向设备查询梯度是否溢出：每个优化步等待一次",
        ),
        Text(
            "where the chip has bfloat16, train under autocast(dtype=torch.bfloat16) without a scaler",
            "芯片支持 bfloat16 时，请在 autocast(dtype=torch.bfloat16) 下训练，无需 scaler",
        ),
    ),
    "clip_grad_norm_": (
        Text(
            "error_if_nonfinite=True asks for the norm on the host: one wait per optimizer step",
            "error_if_nonfinite=True 需要在主机上得到范数：每个优化步等待一次",
        ),
        Text(
            "leave error_if_nonfinite out and test the loss with torch.isfinite once per update",
            "去掉 error_if_nonfinite，每次更新用 torch.isfinite 检查一次损失",
        ),
    ),
    "one_hot": (
        Text(
            "one_hot without num_classes reads the largest class from the device",
            "未给 num_classes 的 one_hot 要从设备读取最大类别",
        ),
        Text("pass num_classes=, the number of actions or classes", "传入 num_classes=，即动作数或类别数"),
    ),
    "repeat_interleave": (
        Text(
            "repeat_interleave needs the sum of its repeats to know the size of the result",
            "repeat_interleave 需要 repeats 之和才能确定结果大小",
        ),
        Text("pass output_size= where the sum is known", "已知总数时传入 output_size="),
    ),
}
_MESSAGE = Message(
    Text("a call reads a device value inside", "调用内部读取设备值"),
    _CAUSE,
    _FIX,
    sources=("https://docs.pytorch.org/docs/stable/amp.html",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every call with a hidden read on each step or minibatch."""
    del node
    for wait in analyse(ctx).waits:
        if wait.kind == HIDDEN:
            called = ctx.text(wait.node).split("(")[0].rsplit(".", 1)[-1]
            words = _BY_CALL.get(called, (_CAUSE, _FIX))
            told = message(_TITLE[wait.heat], *words, wait.heat, *_MESSAGE.sources)
            yield change(ctx, wait.node, message=told, heat=wait.heat.value, syncs=1)


RULE = Rule(
    "NPU214",
    "hidden-read",
    _MESSAGE,
    Safety.MANUAL,
    ("GradScaler", "error_if_nonfinite", "one_hot(", "repeat_interleave(", "bincount("),
    (ast.Module,),
    run,
    also_dual=True,
)
