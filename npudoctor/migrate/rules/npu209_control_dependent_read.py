"""The host decides by a device value inside a loop: `if approx_kl > target_kl: break`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.catalogue import CONTROL
from npudoctor.migrate.sync.words import SOURCE_SCALAR, by_heat, message

_TITLE = by_heat("the host decides by `{code}` <when>", "主机<when>根据 `{code}` 做判断")
_CAUSE = Text(
    "a branch, a loop bound or a learning rate depends on the value, so the read cannot move without "
    "changing what runs",
    "分支、循环上界或学习率依赖该值，移动读取会改变程序行为",
)
_FIX = Text(
    "decide less often if the method allows it (test the KL once per epoch), or keep the choice on the "
    "device: torch.where(condition, a, b)",
    "若算法允许，请降低判断频率：每个 epoch 检查一次 KL；或用 torch.where(condition, a, b) 将选择留在设备上",
)
_FINITE_FIX = Text(
    "test once per update instead: look at the loss after the loop. What the branch does then comes later "
    "than now, so this is for a person",
    "改为每次更新检查一次：在循环之后检查损失。分支中的处理会比现在更晚发生，因此需人工处理",
)
_INVARIANT_FIX = Text(
    "the value does not change inside this loop: read it once before it",
    "该值在此循环内不变：请在循环之前读取一次",
)
_MESSAGE = Message(
    Text("a device value decides what the host does", "设备值决定主机行为"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_SCALAR,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every control-dependent read in something hot."""
    del node
    analysis = analyse(ctx)
    for read in analysis.reads:
        if read.use == CONTROL and read.kind != "format":
            finite = any(word in ctx.text(read.node) for word in ("isnan", "isfinite", "isinf"))
            fix = _INVARIANT_FIX if analysis.invariant(read) else _FINITE_FIX if finite else _FIX
            told = message(_TITLE[read.heat], _CAUSE, fix, read.heat, SOURCE_SCALAR)
            yield change(ctx, read.node, message=told, heat=read.heat.value, syncs=1)


RULE = Rule(
    "NPU209",
    "control-dependent-read",
    _MESSAGE,
    Safety.MANUAL,
    ("if ", "while ", "range("),
    (ast.Module,),
    run,
    also_dual=True,
)
