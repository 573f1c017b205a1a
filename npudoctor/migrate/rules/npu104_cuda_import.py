"""Imports from `torch.cuda`: the statement moves to torch_npu, and a bound name `cuda` with its uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    can_pick,
    change,
    lookup_api,
)
from npudoctor.migrate.importlist import without

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-cuda.md"
)
_MESSAGE = Message(
    title=Text("`{code}` imports from torch.cuda", "`{code}` 从 torch.cuda 导入"),
    cause=Text(
        "what it brings in talks to CUDA; without CUDA it is inert or raises",
        "导入的内容面向 CUDA；没有 CUDA 时不起作用或报错",
    ),
    fix=Text("import the same names from torch_npu.npu", "改为从 torch_npu.npu 导入同名接口"),
    sources=(_SOURCE,),
)
_PICKED = Message(
    title=_MESSAGE.title,
    cause=_MESSAGE.cause,
    fix=Text("name the same things in the module that the picker chose", "改用所选模块中的同名接口"),
    sources=(_SOURCE,),
)
_LEFT = Message(
    title=Text("`{code}` cannot be moved to torch_npu as a whole", "`{code}` 无法整体改为 torch_npu"),
    cause=Text(
        "not every name it brings in has the same name and meaning in torch_npu {version}: {names}",
        "其中部分名称在 torch_npu {version} 中没有同名同义的接口：{names}",
    ),
    fix=Text("split the import, and change the named uses by hand", "请拆分导入语句，并手工修改所列用法"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Look at one import statement."""
    if isinstance(node, ast.Import):
        yield from _plain(node, ctx)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        module = node.module or ""
        if module == "torch":
            yield from _submodule(node, ctx)
        elif module == "torch.cuda" or module.startswith("torch.cuda."):
            yield from _names(node, ctx)


def _plain(node: ast.Import, ctx: ModuleContext) -> Iterator[Change]:
    """`import torch.cuda`, `import torch.cuda.amp as amp`."""
    for alias in node.names:
        if alias.name != "torch.cuda" and not alias.name.startswith("torch.cuda."):
            continue
        start, _ = ctx.span(alias)
        end = start + len(alias.name)
        if alias.asname is None and ctx.settings.portable:
            continue  # it binds torch, and is there without CUDA too
        if alias.asname is None:
            others = [b for b in ctx.scope(node).bindings.get("torch", []) if b.node is not node]
            yield change(ctx, node, Edit(start, end, "torch" if not others else "torch_npu"))
            continue
        bad = _bad_uses(ctx, node, alias.asname)
        if bad or ctx.settings.portable:
            yield _left(ctx, node, bad)
        else:
            yield change(ctx, node, Edit(start, end, "torch_npu.npu" + alias.name[len("torch.cuda") :]))


def _submodule(node: ast.ImportFrom, ctx: ModuleContext) -> Iterator[Change]:
    """`from torch import cuda`, alone or among other names."""
    for alias in node.names:
        if alias.name != "cuda":
            continue
        bound = alias.asname or "cuda"
        bad = _bad_uses(ctx, node, bound)
        if bad or ctx.settings.portable:
            yield _left(ctx, node, bad)
            return
        free = alias.asname is None and not any("npu" in s.bindings for s in ctx.names.scopes.values())
        group = f"import{ctx.span(node)[0]}"
        edits = _take_out(ctx, node, alias, "npu" if free else f"npu as {bound}", group)
        if free:
            scope = ctx.scope(node)
            edits += [Edit(*ctx.span(use), "npu", group) for use in ctx.uses("cuda", scope)]
        yield change(ctx, node, *edits)


def _take_out(ctx: ModuleContext, node: ast.ImportFrom, alias: ast.alias, new: str, group: str) -> list[Edit]:
    """Edits that turn `from torch import a, cuda` into two statements, or one into another."""
    start, end = ctx.span(node)
    if len(node.names) == 1:
        module = re.compile(r"from\s+(torch)\b").match(ctx.source, start, end)
        assert module is not None
        from_edit = Edit(module.start(1), module.end(1), "torch_npu", group)
        return [from_edit, Edit(*ctx.span(alias), new, group)]
    first, _ = ctx.line_span(ctx.position(start)[0])
    indent = ctx.source[first:start]
    _, last = ctx.line_span(ctx.position(end)[0])
    rest = ctx.source[end:last].strip()
    if indent.strip() or (rest and not rest.startswith("#")):  # several statements on one line
        second = Edit(end, end, f"; from torch_npu import {new}", group)
    else:
        at_end = end + len(ctx.source[end:last].rstrip("\r\n"))
        second = Edit(at_end, at_end, f"{ctx.newline}{indent}from torch_npu import {new}", group)
    return [Edit(start, end, without(ctx.source[start:end], alias.name), group), second]


def _names(node: ast.ImportFrom, ctx: ModuleContext) -> Iterator[Change]:
    """`from torch.cuda.amp import autocast, GradScaler`."""
    modules, bad = set(), []
    for alias in node.names:
        path = f"{node.module}.{alias.name}"
        module = _new_home(path, alias.name, ctx)
        if module is None or alias.name == "*":
            bad.append(path)
        else:
            modules.add(module)
            bad += _bad_uses(ctx, node, alias.asname or alias.name)
    if not bad and ctx.settings.portable:
        edits = _through_picker(ctx, node)
        yield change(ctx, node, *edits, message=_PICKED) if edits else _left(ctx, node, sorted(modules))
        return
    if bad or len(modules) != 1:
        yield _left(ctx, node, bad or sorted(modules))
        return
    start, end = ctx.span(node)
    match = re.compile(r"from\s+(torch\.cuda[\w.]*)").match(ctx.source, start, end)
    if match is not None:
        yield change(ctx, node, Edit(match.start(1), match.end(1), modules.pop()))


def _through_picker(ctx: ModuleContext, node: ast.ImportFrom) -> list[Edit]:
    """The statement goes, and each use says `accelerator_module.amp.autocast`."""
    others = [s for s in ctx.tree.body if s is not node and isinstance(s, (ast.Import, ast.ImportFrom))]
    bound_at_top = [b for found in ctx.names.root.bindings.values() for b in found if b.node in others]
    torch = any(b.target == "torch" for b in bound_at_top) and not ctx.path.endswith("__init__.py")
    start, end = ctx.span(node)
    first, last = ctx.line_span(ctx.position(start)[0])[0], ctx.line_span(ctx.position(end)[0])[1]
    alone = not (ctx.source[first:start] + ctx.source[end:last]).strip()
    if not can_pick(ctx) or not torch or not alone or not isinstance(ctx.parent(node), ast.Module):
        return []
    group = f"import{start}"
    edits = [Edit(first, last, "", group)]
    for alias in node.names:
        bound = alias.asname or alias.name
        known = ctx.names.root.bindings.get(bound, [])
        api = lookup_api(f"{node.module}.{alias.name}")
        uses = ctx.uses(bound, ctx.names.root)
        if len(known) != 1 or not uses or api is None or api.if_left == "loud":
            return []
        path = f"{node.module}.{alias.name}"[len("torch.cuda") :]
        edits += [Edit(*ctx.span(use), f"accelerator_module{path}", group) for use in uses]
    return edits


def _new_home(path: str, name: str, ctx: ModuleContext) -> str | None:
    """Module that has `name` in torch_npu; None where the row does not allow a rename."""
    api = lookup_api(path)
    if (
        api is None
        or api.name != path
        or api.action != "rewrite"
        or not api.available(ctx.settings.torch_npu)
    ):
        return None
    module, _, last = api.target.rpartition(".")
    if last != name:
        return None
    return re.sub(r"^torch\.npu\b", "torch_npu.npu", module)


def _bad_uses(ctx: ModuleContext, node: ast.AST, bound: str) -> list[str]:
    """Names reached through the binding that have no plain counterpart."""
    bad = []
    for use in ctx.uses(bound, ctx.scope(node)):
        top: ast.AST = use
        while isinstance(ctx.parent(top), ast.Attribute):
            top = ctx.parent(top) or top
        path = ctx.qualified_name(top) or ctx.qualified_name(use)
        api = lookup_api(path) if path is not None else None
        if path in ("torch.cuda", None):
            bad.append(ctx.text(use))
        elif api is None or api.action != "rewrite" or not api.available(ctx.settings.torch_npu):
            bad.append(path or "")
    return sorted(set(bad))


def _left(ctx: ModuleContext, node: ast.AST, bad: list[str]) -> Change:
    names = ", ".join(bad) or "style=portable"
    return change(ctx, node, message=_LEFT, version=ctx.settings.torch_npu, names=names)


RULE = Rule("NPU104", "cuda-import", _MESSAGE, Safety.SAFE, ("cuda",), (ast.Import, ast.ImportFrom), run)
