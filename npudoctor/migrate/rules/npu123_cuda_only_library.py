"""Imports of libraries that are built for CUDA, and of simulators that run on NVIDIA GPUs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from npudoctor import tables
from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Severity, Text, change

_MESSAGE = Message(
    title=Text("{module} is built for CUDA", "{module} 面向 CUDA"),
    cause=Text("it has no NPU form of its own", "它没有 NPU 版本"),
    fix=Text("see the table of modules", "参见模块表"),
    severity=Severity.WARNING,
)


@functools.cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    return {row["module"]: row for row in tables.load("cuda_modules").rows}


@functools.cache
def _message(module: str, guarded: bool) -> Message:
    row = _rows()[module]
    en, zh = (row[k].replace("{", "{{").replace("}", "}}") for k in ("note_en", "note_zh"))
    severity = Severity.NOTE if guarded or row["kind"] == "plugin" else Severity.WARNING
    if row["kind"] == "simulator":
        title = Text("{module} needs an NVIDIA GPU", "{module} 需要 NVIDIA GPU")
        severity = Severity.ERROR
    else:
        title = _MESSAGE.title
    return Message(
        title, Text(f"{{module}}: {en}", f"{{module}}：{zh}"), Text(en, zh), severity, (row["source_url"],)
    )


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One import statement; an import inside `try` is a note, since the program lives without it."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        names = [node.module]
    for module in dict.fromkeys(name.split(".")[0] for name in names):
        if module in _rows() and not _said_before(ctx, node, module):
            guarded = isinstance(ctx.parent(node), ast.Try)
            yield change(ctx, node, message=_message(module, guarded), module=module)


def _said_before(ctx: ModuleContext, node: ast.AST, module: str) -> bool:
    """Whether a library with an Ascend plugin, or a kernel language, was already reported in this module."""
    if _rows()[module]["kind"] not in ("plugin", "kernel"):
        return False
    said: dict[str, ast.AST] = ctx.memo.setdefault("said modules", {})
    return said.setdefault(module, node) is not node


RULE = Rule(
    "NPU123",
    "cuda-only-library",
    _MESSAGE,
    Safety.MANUAL,
    tuple((module, "import") for module in sorted(_rows())),
    (ast.Import, ast.ImportFrom),
    run,
    also_dual=True,
)
