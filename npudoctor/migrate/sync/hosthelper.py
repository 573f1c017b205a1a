"""The function that NPU205 adds to a module: several host copies with one transfer per dtype."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npudoctor.migrate.api import Edit
from npudoctor.migrate.names import FUNCTIONS
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.forms import before_statement, indent_of

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# Grouping by dtype at run time: torch.cat() would convert where dtypes differ. Every part gets its
# own memory, as `.cpu()` would give it. What is no plain dense device tensor takes the old way.
_TEXT = '''\
def {name}(*tensors):
    """Copy tensors to the host like .cpu(), with one transfer for all that have the same dtype."""
    copies = [None] * len(tensors)
    groups = {{}}
    for i, x in enumerate(tensors):
        dense = type(x) is {torch}.Tensor and x.layout is {torch}.strided and x.is_contiguous()
        if dense and x.device.type != "cpu":
            groups.setdefault((x.device, x.dtype), []).append(i)
        else:
            copies[i] = x.cpu()
    for group in groups.values():
        flat = [tensors[i].reshape(-1) for i in group]
        packed = ({torch}.cat(flat) if len(flat) > 1 else flat[0]).cpu()
        for i, part in zip(group, packed.split([x.numel() for x in flat])):
            copies[i] = part.reshape(tensors[i].shape).clone()
    return copies
'''
NAME = "_to_host"  # a name that `from module import *` does not hand on


def text_of(name: str, torch: str, tabs: bool = False) -> str:
    """The source of the function, called `name`, in a module that knows torch as `torch`."""
    text = _TEXT.format(name=name, torch=torch)
    return text.replace("    ", "\t") if tabs else text


def name_in(ctx: ModuleContext, torch: str, first: ast.stmt) -> tuple[str, bool]:
    """The name of the function in this module, and whether the function is there already for `first`.

    Each cell of a notebook has its own, since cells are run one by one.
    """
    name = NAME
    start, end = hazards.cell_of(ctx, first)
    while re.search(rf"\b{name}\b", ctx.source):
        for tabs in (False, True):
            text = text_of(name, torch, tabs)
            if text in ctx.source:
                return name, text in ctx.source[start:end]
        name += "_"
    return name, False


def is_helper(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` stands inside the added function."""
    function = ctx.enclosing_function(node)
    name = getattr(function, "name", "")
    if function is None or not name.startswith(NAME):
        return False
    torch = re.search(r"type\(x\) is (\w+)\.Tensor", ctx.text(function))
    return torch is not None and _is_text(ctx.text(function) + "\n", name, torch[1])


def _is_text(text: str, name: str, torch: str) -> bool:
    return any(text == text_of(name, torch, tabs) for tabs in (False, True))


def insertion(ctx: ModuleContext, first: ast.stmt, text: str) -> Edit | None:
    """Where the function goes: before the first function or class, or after the imports of a script.

    In a notebook before the first compound statement of the cell. None if it cannot stand before `first`
    and after the import of torch.
    """
    if hazards.has_cells(ctx):
        return _in_cell(ctx, first, text)
    top = next((a for a in ctx.ancestors(first) if isinstance(ctx.parent(a), ast.Module)), first)
    body = ctx.tree.body
    if top not in body:
        return None
    before = body[: body.index(top)]
    owners = (*FUNCTIONS, ast.ClassDef)
    stop = next((i for i, s in enumerate(body) if isinstance(s, owners)), len(body))
    before = before[:stop]
    if stop == len(body) or stop > len(before):
        imports = [i for i, s in enumerate(before) if isinstance(s, (ast.Import, ast.ImportFrom))]
        before = before[: imports[-1] + 1] if imports else []
    if not before or not any(_imports_torch(s) for s in before):
        return None
    following = body[len(before)]
    if indent_of(ctx, following) is None and not getattr(following, "decorator_list", None):
        return None
    _, at = ctx.line_span(before[-1].end_lineno or before[-1].lineno)
    blank = len(re.match(r"(?:[ \t\f]*\n)*", ctx.source[at:]).group().splitlines())  # type: ignore[union-attr]
    return Edit(at, at, "\n\n" + text + "\n" * max(0, 2 - blank))


def _in_cell(ctx: ModuleContext, first: ast.stmt, text: str) -> Edit | None:
    start, end = hazards.cell_of(ctx, first)
    inside = [s for s in ctx.tree.body if start <= ctx.span(s)[0] < end]
    place = next((s for s in inside if hasattr(s, "body")), None)
    if place is None or ctx.span(place)[0] > ctx.span(first)[0]:
        return None
    at = before_statement(ctx, place)
    return Edit(at, at, text + "\n\n")


def _imports_torch(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and any(a.name == "torch" for a in statement.names)
