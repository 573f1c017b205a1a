"""Questions about torch in a module: which CUDA name is this, is the NPU in use, where do imports go."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npudoctor.migrate import literals as device_literals
from npudoctor.migrate import portable, style
from npudoctor.migrate.literals import Literal
from npudoctor.migrate.positions import Role, role_of
from npudoctor.migrate.vocabulary import ACCELERATOR_WORDS, FOREIGN_ROOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.names import Binding

_SIMULATORS = frozenset({"isaacgym", "isaacgymenvs", "isaaclab", "isaacsim", "omni"})


def literals(ctx: ModuleContext) -> list[Literal]:
    """Every device literal of the module, found once per round."""
    if "literals" not in ctx.memo:
        found_all = device_literals.find(ctx)
        ctx.memo["literals"] = [lit for lit in found_all if not _in_picker(ctx, lit)]
    found: list[Literal] = ctx.memo["literals"]
    return found


def _in_picker(ctx: ModuleContext, literal: Literal) -> bool:
    """Whether a literal belongs to what portable style wrote: the picker, or a choice that asks it."""
    if style.picker_present(ctx) and style.picks_type(ctx, literal.node):
        return True
    above = ctx.parent(literal.node)
    return portable.is_ours(above) or (above is not None and portable.is_question(above))


def is_torch_project(ctx: ModuleContext) -> bool:
    """Whether a device in this module can only be torch's: it, or its project, imports torch."""
    if ctx.imports_torch:
        return True
    return ctx.project.uses_torch and not ctx.imported_roots & FOREIGN_ROOTS


def uses_accelerator(ctx: ModuleContext) -> bool:
    """Whether the module spoke of CUDA before this run, or of an NPU."""
    return any(word in ctx.original.source for word in ACCELERATOR_WORDS)


def uses_simulator(ctx: ModuleContext) -> bool:
    """Whether the module imports a simulator that runs on NVIDIA GPUs only."""
    return bool(ctx.imported_roots & _SIMULATORS)


def is_chain_end(ctx: ModuleContext, node: ast.AST) -> bool:
    """Whether `node` is not itself the base of a longer attribute chain."""
    above = ctx.parent(node)
    return not (isinstance(above, ast.Attribute) and above.value is node)


def resolved_api(ctx: ModuleContext, node: ast.Attribute) -> str | None:
    """Dotted path of a complete chain that ends under `torch.cuda`, or None."""
    if not isinstance(node.ctx, ast.Load) or not is_chain_end(ctx, node):
        return None
    path = ctx.qualified_name(node)
    return path if path is not None and path.startswith("torch.cuda.") else None


def torch_path(ctx: ModuleContext, node: ast.AST) -> str | None:
    """Dotted path of what `node` names; what the picker chose counts as `torch.npu`."""
    path = ctx.qualified_name(node)
    if path is not None or not isinstance(node, ast.Attribute) or not style.picker_present(ctx):
        return path
    names = [node.attr]
    base = node.value
    while isinstance(base, ast.Attribute):
        names.append(base.attr)
        base = base.value
    by_type = ctx.called_name(base) == "builtins.getattr" and style.TYPE in ctx.text(base)
    picked = by_type or (isinstance(base, ast.Name) and base.id == style.MODULE)
    return ".".join(["torch.npu", *reversed(names)]) if picked else None


def module_node(ctx: ModuleContext, node: ast.AST) -> ast.Attribute | None:
    """The `torch.cuda` inside a chain, when it is spelled out there and not behind an alias."""
    while isinstance(node, ast.Attribute):
        if node.attr == "cuda" and ctx.qualified_name(node.value) == "torch":
            return node
        node = node.value
    return None


def uses_npu(ctx: ModuleContext) -> bool:
    """Whether running the module needs torch_npu: NPU names, `.npu()` calls, NPU devices given to torch."""
    if ctx.settings.portable:
        names = {n.id for n in ctx.nodes(ast.Name)}
        return bool(names & {style.TYPE, style.MODULE}) and not style.picker_present(ctx)
    for node in ctx.nodes(ast.Attribute):
        if node.attr == "npu" and (ctx.qualified_name(node.value) == "torch" or _is_called(ctx, node)):
            return True
    if any(lit.word == "npu" and role_of(ctx, lit.node) is Role.PRODUCER for lit in literals(ctx)):
        return True
    return any(n.value in ("hccl", "cpu:gloo,npu:hccl") for n in ctx.nodes(ast.Constant))


def _is_called(ctx: ModuleContext, node: ast.AST) -> bool:
    above = ctx.parent(node)
    return isinstance(above, ast.Call) and above.func is node


def imports_npu(ctx: ModuleContext) -> bool:
    """Whether the module already imports torch_npu or something of it."""
    for statement in ctx.nodes(ast.Import):
        if any(a.name.split(".")[0] == "torch_npu" for a in statement.names):
            return True
    return any((s.module or "").split(".")[0] == "torch_npu" for s in ctx.nodes(ast.ImportFrom))


# -- where `import torch_npu` goes ---------------------------------------------------------


def top_import_place(ctx: ModuleContext) -> tuple[ast.stmt, int, str] | None:
    """`(torch's import, offset, text)` where the import goes in a module that imports torch at its top."""
    top = [s for s in _torch_imports(ctx) if ctx.names.scope_of(s) is ctx.names.root]
    top = [s for s in top if not type_checking(ctx, s)]
    if not top:
        return None
    best = _best(ctx, top)
    return _after(ctx, _last_import(ctx, best) if ctx.settings.portable else best)


def import_places(ctx: ModuleContext) -> list[tuple[ast.stmt, int, str]]:
    """The same for every module: at its top, or in each function that imports torch and uses the NPU."""
    top = top_import_place(ctx)
    if top is not None:
        return [top]
    users = [n for n in ctx.nodes(ast.Attribute) if n.attr == "npu"] + [lit.node for lit in literals(ctx)]
    functions = {ctx.enclosing_function(n) for n in users}
    inside = [s for s in _torch_imports(ctx) if ctx.enclosing_function(s) in functions]
    return [_after(ctx, s) for s in inside if not type_checking(ctx, s)]


def _torch_imports(ctx: ModuleContext) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for plain in ctx.nodes(ast.Import):
        if any(a.name.split(".")[0] == "torch" for a in plain.names):
            found.append(plain)
    for source in ctx.nodes(ast.ImportFrom):
        if source.level == 0 and (source.module or "").split(".")[0] == "torch":
            found.append(source)
    return sorted(found, key=lambda s: (s.lineno, s.col_offset))


def _best(ctx: ModuleContext, statements: list[ast.stmt]) -> ast.stmt:
    """The first plain `import torch` that always runs, else the first that always runs, else the first."""
    always = [s for s in statements if isinstance(ctx.parent(s), ast.Module)]
    plain = [s for s in always if isinstance(s, ast.Import)]
    best = (plain or always or statements)[0]
    siblings = ctx.block(best)
    at = siblings.index(best)
    while at + 1 < len(siblings) and _follows(ctx, siblings[at], siblings[at + 1]):
        if style.goes_on(siblings, at + 1):
            break
        at += 1
    return siblings[at]


def _last_import(ctx: ModuleContext, statement: ast.stmt) -> ast.stmt:
    """The last of the imports that follow `statement` without anything between: code goes after it."""
    siblings = ctx.block(statement)
    at = last = siblings.index(statement)
    while at + 1 < len(siblings) and isinstance(siblings[at + 1], (ast.Import, ast.ImportFrom)):
        at += 1
        last = last if style.goes_on(siblings, at) else at
    return siblings[last]


def _follows(ctx: ModuleContext, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether `second` is a plain import of torch on the very next line."""
    if not isinstance(first, ast.Import) or not isinstance(second, ast.Import):
        return False
    names = all(a.name.split(".")[0] in ("torch", "torchvision") for a in second.names)
    return names and second.lineno == (first.end_lineno or first.lineno) + 1


def runs_as_torch(ctx: ModuleContext, bindings: Sequence[Binding]) -> bool:
    """Whether a name of these bindings is the module `torch` when the program runs."""
    imported = all(b.kind == "import" and b.target == "torch" for b in bindings)
    return imported and any(not type_checking(ctx, b.node) for b in bindings)


def type_checking(ctx: ModuleContext, statement: ast.AST) -> bool:
    """Whether `statement` is there for type checkers alone."""
    return any(
        isinstance(above, ast.If) and "TYPE_CHECKING" in ctx.text(above.test)
        for above in ctx.ancestors(statement)
    )


def _after(ctx: ModuleContext, statement: ast.stmt) -> tuple[ast.stmt, int, str]:
    """Insertion on the line after `statement`, with its indentation."""
    start, end = ctx.span(statement)
    line, _ = ctx.line_span(ctx.position(start)[0])
    indent = ctx.source[line:start]
    siblings = ctx.block(statement)
    if style.goes_on(siblings, siblings.index(statement)) and not ctx.settings.portable:
        return statement, end, f"; {style.IMPORT}"  # what stands behind it may need the NPU already
    if indent.strip():  # `try: import torch`, `import os; import torch`
        first = indent.split(";")[0]
        if ":" in first.split("#")[0] and not isinstance(ctx.parent(statement), ast.Module):
            return statement, end, f"; {style.IMPORT}"
        indent = first[: len(first) - len(first.lstrip())]
    _, next_line = ctx.line_span(ctx.position(end)[0])
    newline = ctx.newline
    text = _text(ctx, statement, indent)
    if not ctx.source[:next_line].endswith(("\n", "\r")):
        return statement, next_line, newline + text.rstrip("\r\n")
    following = ctx.source[next_line:]
    if ctx.settings.portable and following and not following.startswith(("\n", "\r", "# <npudoctor", "# %%")):
        text += newline  # what follows is set apart from the picker
    return statement, next_line, text


def _text(ctx: ModuleContext, statement: ast.stmt, indent: str) -> str:
    if not ctx.settings.portable:
        return f"{indent}{style.IMPORT}{style.NOQA}{ctx.newline}"
    known = ctx.names.root.bindings.items()
    name = next((n for n, b in known if b[0].target == "torch" and not type_checking(ctx, b[0].node)), None)
    lines = style.picker(name or "torch", ctx.newline)
    lines = ("" if name else f"import torch{ctx.newline}") + ctx.newline + lines
    return "".join(f"{indent}{line}" if line.strip() else line for line in lines.splitlines(keepends=True))
