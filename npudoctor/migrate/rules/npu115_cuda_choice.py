"""Lists of accepted devices: `choices=["cpu", "cuda"]`, `click.Choice`, `Literal["cpu", "cuda"]`."""

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
    is_device_name,
    is_torch_project,
    literals,
    option_name,
    role_of,
)

_SOURCE = "https://docs.python.org/3/library/argparse.html"
_MESSAGE = Message(
    title=Text("an option accepts {code} and would refuse npu", "选项接受 {code}，却会拒绝 npu"),
    cause=Text(
        "a value given on the command line is checked against the list; a default is not",
        "命令行给出的值会与该列表比较，而默认值不会",
    ),
    fix=Text("accept npu", "接受 npu"),
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Change (portable: extend) the list of an option that is called after a device."""
    if not is_torch_project(ctx):
        return
    for literal in literals(ctx):
        if literal.word != "cuda" or role_of(ctx, literal.node) is not Role.CHOICES:
            continue
        holder = ctx.parent(literal.node)
        if not isinstance(holder, (ast.List, ast.Tuple, ast.Set)) or not _is_device_option(ctx, holder):
            continue
        if any(isinstance(e, ast.Constant) and e.value == "npu" for e in holder.elts):
            continue
        if ctx.settings.portable:
            end = ctx.span(literal.node)[1]
            twin = ctx.text(literal.node).replace("cuda", "npu")
            yield change(ctx, literal.node, Edit(end, end, f", {twin}"))
        else:
            yield change(ctx, literal.node, Edit(literal.start, literal.end, "npu"))


def _is_device_option(ctx: ModuleContext, holder: ast.AST) -> bool:
    above = ctx.parent(holder)
    if isinstance(above, ast.Call):  # click.Choice([...])
        above = ctx.parent(above)
    if isinstance(above, ast.keyword):
        call = ctx.parent(above)
        return isinstance(call, ast.Call) and is_device_name(option_name(ctx, call))
    if not isinstance(above, ast.Subscript):
        return False
    if ctx.qualified_name(above.value) not in ("typing.Literal", "typing_extensions.Literal"):
        return False
    owner = next((a for a in ctx.ancestors(above) if isinstance(a, (ast.AnnAssign, ast.arg))), None)
    name = owner.arg if isinstance(owner, ast.arg) else getattr(getattr(owner, "target", None), "id", None)
    return is_device_name(name)


RULE = Rule("NPU115", "cuda-choice", _MESSAGE, Safety.SAFE, ("cuda",), (ast.Module,), run)
