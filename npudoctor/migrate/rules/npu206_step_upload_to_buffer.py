"""`rewards[step] = torch.tensor(reward).to(device)` -> a host buffer, uploaded once after the rollout."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.forms import after_statement, before_statement, indent_of
from npudoctor.migrate.sync.hostbuffer import Step
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat("`{name}` is filled by a blocking upload <when>", "`{name}` <when>通过一次阻塞上传来填充")
_CAUSE = Text(
    "on an NPU each blocking copy to the device drains the stream; the buffer is only read after the rollout",
    "在 NPU 上，每次阻塞的主机到设备拷贝都会排空流；而该缓冲区只在 rollout 之后读取",
)
_SAFE_FIX = Text(
    "fill a host copy of the buffer and upload it once after the loop: the same numbers to the last bit",
    "填充该缓冲区的主机副本，循环后一次上传：数值逐位相同",
)
_UNSAFE_FIX = Text(
    "fill a host copy of the buffer and upload it once after the loop. The conversion to the buffer's "
    "dtype then happens "
    "on the host instead of the device; both round to nearest, but no device was measured: --unsafe-fixes "
    "only",
    "填充该缓冲区的主机副本，循环后一次上传。向缓冲区 dtype 的转换由设备改为主机完成；两者都按就近舍入，"
    "但未在设备上实测：仅在 --unsafe-fixes 时应用",
)
_MESSAGE = Message(
    Text("a buffer is filled by an upload on each step", "每一步通过上传填充缓冲区"),
    _CAUSE,
    _SAFE_FIX,
    sources=(SOURCE_COPY,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every buffer that is proved to be read only after the rollout."""
    del node
    analysis = analyse(ctx)
    for step in analysis.host_buffers:
        if step.refusal is not None:
            continue  # NPU210 tells of the upload
        heat = analysis.loops.paced(step.assign)
        told = message(_TITLE[heat], _CAUSE, _SAFE_FIX if step.same_dtype else _UNSAFE_FIX, heat, SOURCE_COPY)
        yield change(
            ctx,
            step.assign,
            *_edits(ctx, step),
            message=told,
            heat=heat.value,
            syncs=1,
            name=step.name,
            safety=Safety.SAFE if step.same_dtype else Safety.UNSAFE,
        )


def _edits(ctx: ModuleContext, step: Step) -> tuple[Edit, ...]:
    host = f"{step.name}_host"
    while re.search(rf"\b{re.escape(host)}\b", ctx.source):
        host += "_"
    indent = indent_of(ctx, step.loop) or ""
    group = f"buffer:{step.name}:{step.loop.lineno}"
    target = step.assign.targets[0].value  # type: ignore[attr-defined]
    start, end = ctx.span(target)
    _, made_end = ctx.span(step.move.func.value)  # type: ignore[attr-defined]
    _, move_end = ctx.span(step.move)
    before = before_statement(ctx, step.loop)
    after, missing = after_statement(ctx, step.loop)
    upload = f"{indent}{step.name}.copy_({host})"
    return (
        Edit(before, before, f"{indent}{host} = {step.name}.cpu()\n", group),
        Edit(start, end, host, group),
        Edit(made_end, move_end, "", group),
        Edit(after, after, f"\n{upload}" if missing else f"{upload}\n", group),
    )


RULE = Rule(
    "NPU206",
    "step-upload-to-buffer",
    _MESSAGE,
    Safety.UNSAFE,
    ("ensor(", "from_numpy("),
    (ast.Module,),
    run,
    also_dual=True,
)
