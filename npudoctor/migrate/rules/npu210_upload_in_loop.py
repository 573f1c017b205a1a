"""Blocking uploads in a hot loop: `torch.tensor(reward).to(device)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.loops import Heat
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.hidden import UPLOAD, Wait
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat("`{code}` is a blocking upload <when>", "`{code}` <when>进行一次阻塞上传")
_CAUSE = Text(
    "on an NPU a blocking copy to the device also drains the stream (on CUDA a small one is nearly free), "
    "and non_blocking=True helps only from pinned memory",
    "在 NPU 上，阻塞的主机到设备拷贝也会排空流（在 CUDA 上小拷贝几乎没有代价），且 non_blocking=True "
    "仅对锁页内存有效",
)
_TITLES = by_heat(
    "{reads} blocking uploads in one statement ({values}) <when>",
    "同一语句中有 {reads} 次阻塞上传（{values}；<often>）",
)
_STEP_FIX = Text(
    "keep what is only read after the rollout in a host buffer and upload it once per update; join the "
    "arrays that the policy needs now into one upload, and step many environments with one inference",
    "将只在 rollout 之后读取的数据放在主机缓冲区，每次更新上传一次；策略当前需要的数组合并为一次上传，"
    "并用一次推理驱动多个环境",
)
_BATCH_FIX = Text(
    "upload the whole rollout once before the loop and index it on the device, or join the arrays of a batch "
    "into one upload",
    "在循环之前一次上传整个 rollout，再在设备上索引；或将一个批次的数组合并为一次上传",
)
_MESSAGE = Message(
    Text("a blocking upload in a hot loop", "热循环中的阻塞上传"), _CAUSE, _STEP_FIX, sources=(SOURCE_COPY,)
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Uploads of host data on each step or minibatch, those of one statement together."""
    del node
    analysis = analyse(ctx)
    told_elsewhere = {s.move for s in analysis.host_buffers if s.refusal is None}  # NPU206
    groups: dict[ast.stmt, list[Wait]] = {}
    for wait in analysis.waits:
        if wait.kind == UPLOAD and wait.node not in told_elsewhere:
            groups.setdefault(ctx.statement(wait.node), []).append(wait)
    for group in groups.values():
        heat = group[0].heat
        title = _TITLES[heat] if len(group) > 1 else _TITLE[heat]
        told = message(title, _CAUSE, _BATCH_FIX if heat is Heat.MINIBATCH else _STEP_FIX, heat, SOURCE_COPY)
        values = ", ".join(dict.fromkeys(ctx.text(w.node)[:40] for w in group))
        numbers: dict[str, Any] = {"reads": len(group), "syncs": len(group), "values": values}
        yield change(ctx, group[0].node, message=told, heat=heat.value, **numbers)


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
