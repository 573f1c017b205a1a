"""Device strings `"cuda"`, `"cuda:0"`, `f"cuda:{i}"` that decide a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Role,
    Rule,
    Safety,
    Text,
    change,
    device_literal,
    is_torch_project,
    literals,
    role_of,
)

_MESSAGE = Message(
    title=Text("{code} names a CUDA device", "{code} 指定了 CUDA 设备"),
    cause=Text(
        "an NPU machine has no such device: the first tensor placed there raises",
        "NPU 机器上没有该设备：首个放置到其上的张量会报错",
    ),
    fix=Text("name the NPU instead", "改为 NPU 设备名"),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Replace the word `cuda` in every literal that torch takes as a device."""
    if not is_torch_project(ctx):
        return
    for literal in literals(ctx):
        if literal.word != "cuda" or role_of(ctx, literal.node) is not Role.PRODUCER:
            continue
        new = device_literal(ctx, literal)
        edits = (Edit(*new),) if new is not None else ()
        yield change(ctx, literal.node, *edits)


RULE = Rule("NPU102", "cuda-device-string", _MESSAGE, Safety.SAFE, ("cuda",), (ast.Module,), run)
