"""Reads that only print or check: `print(loss)`, `assert x.isfinite().all()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.catalogue import DEBUG
from npudoctor.migrate.sync.words import SOURCE_SCALAR, by_heat, message

_TITLE = by_heat(
    "`{code}` waits for the device <when>, only to print or check",
    "`{code}` <when>等待设备，仅用于打印或检查",
)
_CAUSE = Text(
    "printing a tensor or asking for its truth copies it to the host; training does not need the value",
    "打印张量或判断其真值都会将其拷贝到主机；训练本身并不需要该值",
)
_FIX = Text(
    "put it behind a debug flag, print every N steps, or collect the checks in one tensor and test it "
    "once per update",
    "放到调试开关之后、每 N 步打印一次，或将检查累积到一个张量中，每次更新只判断一次",
)
_MESSAGE = Message(
    Text("a device value is read only to print or check it", "读取设备值仅用于打印或检查"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_SCALAR,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every debug-only read in something hot."""
    del node
    for read in analyse(ctx).reads:
        if read.use == DEBUG or read.kind == "format":
            told = message(_TITLE[read.heat], _CAUSE, _FIX, read.heat, SOURCE_SCALAR)
            yield change(ctx, read.node, message=told, heat=read.heat.value, syncs=1)


RULE = Rule(
    "NPU208",
    "debug-only-read",
    _MESSAGE,
    Safety.MANUAL,
    ("print(", "assert ", "isnan", "isfinite", "isinf", "{"),
    (ast.Module,),
    run,
    also_dual=True,
)
