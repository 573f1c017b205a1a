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
    "GradScaler.step asks whether a gradient overflowed, error_if_nonfinite and one_hot without "
    "num_classes look at the "
    "data, repeat_interleave needs the output size: one wait each",
    "GradScaler.step 要判断梯度是否溢出，error_if_nonfinite 与未给 num_classes 的 one_hot 要查看数据，"
    "repeat_interleave 需要输出大小：每次等待一次",
)
_FIX = Text(
    "train in bfloat16 without a scaler where the chip has it, pass num_classes= and output_size=, and "
    "test gradients "
    "for finite values once per update",
    "芯片支持时使用 bfloat16 训练而无需 scaler；传入 num_classes= 与 output_size=；"
    "每次更新只检查一次梯度是否有限",
)
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
            told = message(_TITLE[wait.heat], _CAUSE, _FIX, wait.heat, *_MESSAGE.sources)
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
