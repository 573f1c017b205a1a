"""Switches that keep a simulator on an NVIDIA GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    uses_simulator,
)

_MESSAGE = Message(
    title=Text("`{code}` keeps the simulation on an NVIDIA GPU", "`{code}` 使仿真运行在 NVIDIA GPU 上"),
    cause=Text(
        "Isaac and similar simulators run on NVIDIA hardware only; an NPU cannot take this part",
        "Isaac 等仿真器只能运行在 NVIDIA 硬件上，NPU 无法承担这一部分",
    ),
    fix=Text(
        "run the simulator on a separate GPU host and the learner on the NPU, or simulate on the CPU; "
        "this line was left as it is",
        "请将仿真器放在单独的 GPU 主机、学习器放在 NPU 上，或改用 CPU 仿真；该行保持不变",
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/RLinf/RLinf/pull/742",),
)
_SWITCHES = frozenset({"use_gpu_pipeline", "use_gpu", "sim_device", "sim_device_type", "graphics_device_id"})


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """An assignment to, or a keyword argument of, such a switch in a module that uses the simulator."""
    if not uses_simulator(ctx):
        return
    if isinstance(node, ast.keyword):
        if node.arg in _SWITCHES:
            yield change(ctx, node)
        return
    assert isinstance(node, ast.Assign)
    target = node.targets[0]
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
    if name in _SWITCHES:
        yield change(ctx, node)


RULE = Rule(
    "NPU124", "simulator-device", _MESSAGE, Safety.MANUAL, ("isaac", "omni"), (ast.Assign, ast.keyword), run
)
