"""A module that already chooses between CUDA and NPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, is_dual

_SOURCE = "https://github.com/Ascend/pytorch"
_MESSAGE = Message(
    title=Text("the module already handles NPUs and was left alone", "该模块已支持 NPU，保持原样"),
    cause=Text(
        "it chooses between an NPU and CUDA itself; rewriting would turn both branches into the same one",
        "它自行在 NPU 与 CUDA 之间选择；改写会使两个分支变得相同",
    ),
    fix=Text(
        "nothing to do here; look only whether its NPU branch is the one you want",
        "此处无需修改；请确认其 NPU 分支符合预期",
    ),
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One note for the whole module."""
    if is_dual(ctx.original):
        yield Change(0, 0)


RULE = Rule(
    "NPU140",
    "both-backends",
    _MESSAGE,
    Safety.MANUAL,
    ('"npu', "'npu", ".npu", "npu_available", "torch_npu"),
    (ast.Module,),
    run,
    also_dual=True,
)
