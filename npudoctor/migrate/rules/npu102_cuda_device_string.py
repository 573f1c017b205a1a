"""Device strings `"cuda"`, `"cuda:0"`, `f"cuda:{i}"` that decide a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Literal,
    Message,
    ModuleContext,
    Role,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    device_literal,
    is_simulator_name,
    is_torch_project,
    literals,
    name_of_place,
    outermost,
    role_of,
    uses_simulator,
)

_SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
_MESSAGE = Message(
    title=Text("{code} names a CUDA device", "{code} 指定了 CUDA 设备"),
    cause=Text(
        "an NPU machine has no such device: the first tensor placed there raises",
        "NPU 机器上没有该设备：首个放置到其上的张量会报错",
    ),
    fix=Text("name the NPU instead", "改为 NPU 设备名"),
    sources=(_SOURCE,),
)


_SIMULATOR = Message(
    title=Text("{code} may be the simulator's device", "{code} 可能是仿真器的设备"),
    cause=Text(
        "the module uses a simulator that runs on NVIDIA GPUs only, and this string may go to it",
        "该模块使用只能在 NVIDIA GPU 上运行的仿真器，该字符串可能传给它",
    ),
    fix=Text("make it npu only where the learner reads it", "仅在学习器使用它的地方改为 npu"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Replace the word `cuda` in every literal that torch takes as a device."""
    if not is_torch_project(ctx):
        return
    for literal in literals(ctx):
        if literal.word != "cuda" or role_of(ctx, literal.node) is not Role.PRODUCER:
            continue
        name = name_of_place(ctx, literal.node)
        if is_simulator_name(name):
            continue
        if name == "device" and uses_simulator(ctx) and not _given_to_torch(ctx, literal):
            yield change(ctx, literal.node, message=_SIMULATOR)
            continue
        yield change(ctx, literal.node, *(Edit(*new) for new in device_literal(ctx, literal)))


def _given_to_torch(ctx: ModuleContext, literal: Literal) -> bool:
    """Whether the string is an argument of torch itself, and not only stored under a name."""
    _, above = outermost(ctx, literal.node)
    call = ctx.parent(above) if isinstance(above, ast.keyword) else above
    return isinstance(call, ast.Call) and (ctx.called_name(call) or "").startswith("torch.")


RULE = Rule("NPU102", "cuda-device-string", _MESSAGE, Safety.SAFE, ("cuda",), (ast.Module,), run)
