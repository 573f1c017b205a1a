"""Every other read of a device value in something hot."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.catalogue import CONTROL, DEBUG, ENV_STEP, LOG, RETURN
from npudoctor.migrate.sync.words import SOURCE_COPY, SOURCE_SCALAR, by_heat, message

_TITLE = by_heat("`{code}` waits for the device <when>", "`{code}` <when>等待设备")
_CAUSE = Text(
    "the read drains the task queue and the stream before the host goes on",
    "该读取会先排空任务队列和流，主机才能继续",
)
_CALLED_CAUSE = Text(
    "the function is called from a loop, so the read drains the task queue and the stream on every call",
    "该函数在循环中被调用，每次调用都会排空任务队列和流",
)
_INVARIANT_FIX = Text(
    "the value does not change inside this loop: read it once before it",
    "该值在此循环内不变：请在循环之前读取一次",
)
_FIXES = {
    ENV_STEP: Text(
        "the environment needs the action on the host: one copy per step is the floor. Step many "
        "environments with one inference, and keep value and log-probability on the device",
        "环境需要主机上的动作：每步一次拷贝是下限。请用一次推理驱动多个环境，并将 value 与 "
        "log-prob 留在设备上",
    ),
    RETURN: Text(
        "return the tensor and let the caller read once, batch the environments into one inference, or "
        "run a small policy "
        "on the host while collecting",
        "返回张量，由调用者一次读回；或将多个环境合并为一次推理；或在采样阶段于主机上运行小策略网络",
    ),
    LOG: Text(
        "log every N updates, or collect the tensors and read them once per update",
        "每 N 次更新记录一次，或收集张量并在每次更新时一次读回",
    ),
}
_FIX = Text(
    "keep the value on the device, collect the tensors and read them once after the loop, or hold the "
    "rollout buffer on "
    "the host and move only the batch",
    "将值留在设备上，收集张量并在循环后一次读回；或将 rollout 缓冲区放在主机上，只传输批数据",
)
_MESSAGE = Message(
    Text("a device value is read in a loop", "循环中读取设备值"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_SCALAR, SOURCE_COPY),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every read that no other rule tells of."""
    del node
    analysis = analyse(ctx)
    packed = {r.node for group in analysis.copies for r in group}
    for read in analysis.reads:
        if read.use in (DEBUG, CONTROL) or read.kind == "format" or read.node in packed:
            continue
        cause = _CALLED_CAUSE if analysis.loops.called_from_loop(read.node) else _CAUSE
        fix = _INVARIANT_FIX if analysis.invariant(read) else _FIXES.get(read.use, _FIX)
        source = SOURCE_COPY if read.kind == "array" else SOURCE_SCALAR
        told = message(_TITLE[read.heat], cause, fix, read.heat, source)
        yield change(ctx, read.node, message=told, heat=read.heat.value, syncs=1)


RULE = Rule(
    "NPU213",
    "host-read-in-loop",
    _MESSAGE,
    Safety.MANUAL,
    (".item(", ".cpu(", ".to(", ".numpy(", ".tolist(", "float(", "int(", "bool("),
    (ast.Module,),
    run,
    also_dual=True,
)
