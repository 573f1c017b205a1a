"""How a device is written in the two styles: `npu`, and `portable` with a picker per file.

In portable style a module gets a few lines that choose `npu` where torch_npu is installed and sees
a device, else `cuda`, else `cpu`. What a string or a call becomes so that all three work is in `portable`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate import portable
from npudoctor.migrate.literals import Literal
from npudoctor.migrate.portable import MODULE, TYPE, Use

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

IMPORT = "import torch_npu"
NOQA = "  # noqa: F401"

Replacement = tuple[int, int, str]


def device_literal(ctx: ModuleContext, literal: Literal) -> list[Replacement]:
    """The replacements of a device literal, empty where the style has no exact form for it."""
    if not ctx.settings.portable:
        return [(literal.start, literal.end, "npu")]
    if not can_pick(ctx):
        return []
    use = portable.use_of(ctx, literal.node)
    if (portable.guarded if use is Use.ASK else portable.chosen)(ctx, literal.node):
        use = Use.PLACE
    start, end = ctx.span(literal.node)
    text = ctx.source[start:end]
    quote = '"' if '"' in text[: literal.start - start] else "'"
    if use is Use.ASK:
        at, stop = literal.start - start, literal.end - start
        twin = portable.choice(text[:at] + "npu" + text[stop:], text, quote)
        return [(start, end, portable.bracketed(ctx, literal.node, twin))] if "\n" not in text else []
    around = _around(ctx, literal, quote) if use is Use.KEEP else []
    if literal.exact:
        return [(start, end, TYPE), *around]
    if use is Use.KEEP and "\n" not in text and not _is_part(ctx, literal.node):
        return _kept(ctx, literal, text, quote)
    if literal.fstring:
        return [(start, literal.end, _opened(text[: literal.start - start]))]
    new = _indexed(ctx, literal, text, quote)
    return [(start, end, new), *around] if new is not None else []


def _around(ctx: ModuleContext, literal: Literal, quote: str) -> list[Replacement]:
    """`"cpu" if accelerator_type == "cpu" else ` before a text that is built or `torch.device("cuda", i)`."""
    whole = _built(ctx, literal.node)
    cpu = f"{quote}cpu{quote}"
    if whole is literal.node:
        above = ctx.parent(whole)
        call = ctx.parent(above) if isinstance(above, ast.keyword) else above
        if not isinstance(call, ast.Call) or ctx.called_name(call) != "torch.device":
            return []
        if len(call.args) + len(call.keywords) < 2:
            return []
        whole, cpu = call, f"{ctx.text(call.func)}({cpu})"
    start, end = ctx.span(whole)
    opened, _, closed = portable.bracketed(ctx, whole, "|").partition("|")
    before = (start, start, opened + portable.not_on_cpu("", cpu, quote))
    return [before, *([(end, end, closed)] if closed else [])]


def _built(ctx: ModuleContext, node: ast.expr) -> ast.expr:
    """`"cuda:%d" % i`, `"cuda:" + str(i)` or `"cuda:{}".format(i)` of its first part."""
    while True:
        above = ctx.parent(node)
        if isinstance(above, ast.BinOp) and above.left is node:
            node = above
        elif isinstance(above, ast.Attribute) and isinstance(call := ctx.parent(above), ast.Call):
            node = call
        else:
            return node


def _is_part(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether more is built on the string: `"cuda:" + str(i)`, `"cuda:{}".format(i)`."""
    return isinstance(ctx.parent(node), (ast.BinOp, ast.Attribute, ast.FormattedValue, ast.JoinedStr))


def _opened(opening: str) -> str:
    """The start of an f-string with the type in it; the first of joined strings may be a plain one."""
    return ("" if "f" in opening.lower() else "f") + opening + "{" + TYPE + "}"


def _kept(ctx: ModuleContext, literal: Literal, text: str, quote: str) -> list[Replacement]:
    """`"cpu" if accelerator_type == "cpu" else f"{accelerator_type}:0"`."""
    start, end = ctx.span(literal.node)
    if literal.fstring:
        new: str | None = _opened(text[: literal.start - start]) + text[literal.end - start :]
    else:
        new = _indexed(ctx, literal, text, quote)
    if new is None:
        return []
    whole = portable.not_on_cpu(new, f"{quote}cpu{quote}", quote)
    return [(start, end, portable.bracketed(ctx, literal.node, whole))]


def _indexed(ctx: ModuleContext, literal: Literal, text: str, quote: str) -> str | None:
    """`"cuda:0"` as an f-string, or a piece such as `"cuda:"` as a sum."""
    rest = str(getattr(literal.node, "value", ""))[len(literal.word) :]
    if rest[1:].isdigit() and "\n" not in text:
        return f"f{quote}{{{TYPE}}}{rest}{quote}"
    above = ctx.parent(literal.node)
    if not isinstance(above, (ast.BinOp, ast.Attribute)):
        return None
    joined = f"{TYPE} + {quote}{rest}{quote}"
    return joined if isinstance(getattr(above, "op", None), ast.Add) else f"({joined})"


def can_pick(ctx: ModuleContext) -> bool:
    """Whether the picker can live in this module: torch is imported at its top, the names are free."""
    if ctx.path.endswith(".pyi"):
        return False  # nothing of a stub runs
    if "picker" not in ctx.memo:
        bound = {name for scope in ctx.names.scopes.values() for name in scope.bindings}
        free = not bound & {TYPE, MODULE}
        ctx.memo["picker"] = picker_present(ctx) or (free and _torch_at_top(ctx))
    return bool(ctx.memo["picker"])


def _torch_at_top(ctx: ModuleContext) -> bool:
    """Whether torch is imported by a statement of the module itself, not in a branch or a function."""
    body = ctx.tree.body
    for at, statement in enumerate(body):
        if goes_on(body, at):
            continue  # what stands behind it on its line may need the picker already
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names = [statement.module or ""]
        else:
            continue
        if any(name.split(".")[0] == "torch" for name in names):
            return True
    return False


def goes_on(block: list[ast.stmt], at: int) -> bool:
    """Whether the line on which a statement ends holds something that is no import behind it."""
    line = block[at].end_lineno
    behind = [s for s in block[at + 1 :] if s.lineno == line]
    return any(not isinstance(s, (ast.Import, ast.ImportFrom)) for s in behind)


def picker_present(ctx: ModuleContext) -> bool:
    """Whether the module already has the picker."""
    return TYPE in ctx.names.root.bindings and MODULE in ctx.names.root.bindings and "torch_npu" in ctx.source


def picks_type(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` stands in a statement that gives the picker's name its value."""
    statement = ctx.statement(node)
    return isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == TYPE


def picker(torch_name: str, newline: str) -> str:
    """The lines of the picker.

    `device_count`, not `is_available`: torch.cuda answers it without starting CUDA, so the program may
    still choose its cards (CUDA_VISIBLE_DEVICES) or fork afterwards.
    """
    lines = [
        "try:",
        f"    {IMPORT}{NOQA}",
        "",
        f'    {TYPE} = "npu" if {torch_name}.npu.is_available() else "cuda"',
        "except ImportError:",
        f'    {TYPE} = "cuda"',
        f"{MODULE} = getattr({torch_name}, {TYPE})",
        f"if {MODULE}.device_count() == 0:",
        f'    {TYPE} = "cpu"  # {MODULE} is torch.cuda then, which answers that there is none',
    ]
    return newline.join(lines) + newline
