"""Blocking uploads in a hot loop: `torch.tensor(reward).to(device)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.hidden import UPLOAD
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat("`{code}` is a blocking upload <when>", "`{code}` <when>进行一次阻塞上传")
_CAUSE = Text(
    "on an NPU a blocking copy to the device also drains the stream (on CUDA a small one is nearly free), "
    "and "
    "non_blocking=True helps only from pinned memory",
    "在 NPU 上，阻塞的主机到设备拷贝也会排空流（在 CUDA 上小拷贝几乎没有代价），且 non_blocking=True "
    "仅对锁页内存有效",
)
_FIX = Text(
    "keep what is only read after the rollout in a host buffer and upload it once per update; pack the "
    "rest of a step "
    "into one upload, and step many environments with one inference",
    "将只在 rollout 之后读取的数据放在主机缓冲区，每次更新上传一次；其余数据每步合并为一次上传，"
    "并用一次推理驱动多个环境",
)
_MESSAGE = Message(
    Text("a blocking upload in a hot loop", "热循环中的阻塞上传"), _CAUSE, _FIX, sources=(SOURCE_COPY,)
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every upload of host data on each step or minibatch."""
    del node
    analysis = analyse(ctx)
    told_elsewhere = {s.move for s in analysis.host_buffers if s.refusal is None}  # NPU206
    for wait in analysis.waits:
        if wait.kind == UPLOAD and wait.node not in told_elsewhere:
            told = message(_TITLE[wait.heat], _CAUSE, _FIX, wait.heat, SOURCE_COPY)
            yield change(ctx, wait.node, message=told, heat=wait.heat.value, syncs=1)


RULE = Rule(
    "NPU210",
    "upload-in-loop",
    _MESSAGE,
    Safety.MANUAL,
    ("ensor(", "from_numpy(", "asarray("),
    (ast.Module,),
    run,
    also_dual=True,
)
