"""`import torch_npu` where a module uses the NPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Text,
    change,
    import_places,
    imports_npu,
    top_import_place,
    uses_npu,
)

_SOURCE = "https://github.com/Ascend/pytorch"
_MESSAGE = Message(
    title=Text(
        "the module uses the NPU but does not import torch_npu", "模块使用了 NPU，但没有导入 torch_npu"
    ),
    cause=Text(
        "torch.npu exists only after `import torch_npu`; autoloading came with torch 2.5 and can be "
        "switched off",
        "只有 `import torch_npu` 之后才有 torch.npu；自动加载自 torch 2.5 起提供，且可能被关闭",
    ),
    fix=Text("import torch_npu after torch", "在 torch 之后导入 torch_npu"),
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Insert the import after torch's own."""
    assert isinstance(node, ast.Module)
    if ctx.path.endswith(".pyi"):
        return  # nothing of a stub runs
    # Only where this run put the NPU in: a module that was written for NPUs knows what it does.
    if ctx.original is ctx or not ctx.imports_torch or imports_npu(ctx) or not uses_npu(ctx):
        return
    if not any(word in ctx.original.source for word in _TRIGGERS) and uses_npu(ctx.original):
        return
    for statement, offset, text in import_places(ctx):
        yield change(ctx, statement, Edit(offset, offset, text))


def follows(ctx: ModuleContext, chosen: Sequence[tuple[str, Change]]) -> Iterator[Change]:
    """The import in the same round as the change that makes the module need it."""
    codes = {code for code, made in chosen if any("npu" in e.text for e in made.edits)}
    if ctx.settings.portable or ctx.path.endswith(".pyi") or _MOVES_IMPORTS in codes or not codes & _NEED_IT:
        return
    if ctx.imports_torch and not imports_npu(ctx):
        place = top_import_place(ctx)
        if place is not None:
            yield change(ctx, place[0], Edit(place[1], place[1], place[2]))


# Rules whose rewrites bring the NPU into a module; comparisons and lists of choices do not.
_NEED_IT = frozenset({"NPU101", "NPU102", "NPU103", "NPU107", "NPU112", "NPU114", "NPU116", "NPU139"})
_MOVES_IMPORTS = "NPU104"
_TRIGGERS = ("cuda", "nccl")  # beside whatever another rule changes
RULE = Rule(
    "NPU105",
    "torch-npu-not-imported",
    _MESSAGE,
    Safety.SAFE,
    _TRIGGERS,
    (ast.Module,),
    run,
    follows=follows,
)
