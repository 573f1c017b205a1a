"""Results whose shape depends on data: masks, nonzero, unique."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.hidden import SHAPE
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat(
    "the shape of `{code}` depends on data: the host waits for it <when>",
    "`{code}` 的形状取决于数据：主机<when>等待其结果",
)
_CAUSE = Text(
    "the host must know the size before it can go on, and every new shape may select or compile kernels "
    "again",
    "主机必须先知道大小才能继续，而且每个新形状都可能重新选择或编译算子",
)
_FIX = Text(
    "keep the shape: torch.where(mask, x, 0) for sums, masked_fill for writes; or build the mask on the "
    "host where the "
    "data came from. Means over a mask then round differently, so this is for a person",
    "保持形状不变：求和用 torch.where(mask, x, 0)，写入用 masked_fill；或在数据来源的主机上构造掩码。"
    "掩码均值的舍入会不同，因此需人工处理",
)
_MESSAGE = Message(
    Text("a shape depends on device data", "形状取决于设备数据"), _CAUSE, _FIX, sources=(SOURCE_COPY,)
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every data-dependent shape on each step or minibatch."""
    del node
    for wait in analyse(ctx).waits:
        if wait.kind == SHAPE:
            told = message(_TITLE[wait.heat], _CAUSE, _FIX, wait.heat, SOURCE_COPY)
            yield change(ctx, wait.node, message=told, heat=wait.heat.value, syncs=1)


RULE = Rule(
    "NPU211",
    "data-dependent-shape",
    _MESSAGE,
    Safety.MANUAL,
    ("nonzero(", "masked_select(", "unique(", "argwhere(", "where(", "["),
    (ast.Module,),
    run,
    also_dual=True,
)
