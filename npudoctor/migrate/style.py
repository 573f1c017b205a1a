"""How a device is written in the two styles: `npu`, and `portable` with a picker per file.

In portable style a module gets a few lines that choose `npu` where torch_npu is installed
and sees a device, and `cuda` otherwise; on a machine without torch_npu the program then
does exactly what it did before.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate.literals import Literal

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

TYPE = "accelerator_type"  # "npu" or "cuda"
MODULE = "accelerator_module"  # torch.npu or torch.cuda
IMPORT = "import torch_npu"
NOQA = "  # noqa: F401"

Replacement = tuple[int, int, str]


def device_literal(ctx: ModuleContext, literal: Literal) -> Replacement | None:
    """The replacement of a device literal, or None where the style has no exact form for it."""
    if not ctx.settings.portable:
        return literal.start, literal.end, "npu"
    if not can_pick(ctx):
        return None
    if literal.fstring:
        return literal.start, literal.end, "{" + TYPE + "}"
    start, end = ctx.span(literal.node)
    text = ctx.source[start:end]
    if literal.exact:
        return start, end, TYPE
    rest = str(getattr(literal.node, "value", ""))[len(literal.word) :]
    if rest[1:].isdigit() and "\n" not in text:
        return start, end, f'f"{{{TYPE}}}{rest}"'
    if isinstance(ctx.parent(literal.node), (ast.BinOp, ast.Attribute)):
        quote = text[literal.start - start - 1]
        joined = f"{TYPE} + {quote}{rest}{quote}"
        plus = isinstance(getattr(ctx.parent(literal.node), "op", None), ast.Add)
        return start, end, joined if plus else f"({joined})"
    return None


def can_pick(ctx: ModuleContext) -> bool:
    """Whether the picker can live in this module: torch is imported at its top, the names are free."""
    if "picker" not in ctx.memo:
        bound = {name for scope in ctx.names.scopes.values() for name in scope.bindings}
        free = not bound & {TYPE, MODULE}
        ctx.memo["picker"] = picker_present(ctx) or (free and _torch_at_top(ctx))
    return bool(ctx.memo["picker"])


def _torch_at_top(ctx: ModuleContext) -> bool:
    """Whether torch is imported by a statement of the module itself, not in a branch or a function."""
    for statement in ctx.tree.body:
        if isinstance(statement, ast.Import) and any(
            a.name.split(".")[0] == "torch" for a in statement.names
        ):
            return True
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "torch":
            return statement.level == 0
    return False


def picker_present(ctx: ModuleContext) -> bool:
    """Whether the module already has the picker."""
    return TYPE in ctx.names.root.bindings and MODULE in ctx.names.root.bindings and "torch_npu" in ctx.source


def picks_type(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` stands in a statement that gives the picker's name its value."""
    statement = ctx.statement(node)
    return isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == TYPE


def picker(torch_name: str, newline: str) -> str:
    """The lines of the picker."""
    lines = [
        "try:",
        f"    {IMPORT}{NOQA}",
        "",
        f'    {TYPE} = "npu" if {torch_name}.npu.is_available() else "cuda"',
        "except ImportError:",
        f'    {TYPE} = "cuda"',
        f"{MODULE} = getattr({torch_name}, {TYPE})",
    ]
    return newline.join(lines) + newline
