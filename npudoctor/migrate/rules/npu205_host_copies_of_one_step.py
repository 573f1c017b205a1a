"""Several `.cpu()` / `.numpy()` copies of one step -> one transfer for those of one dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync import hosthelper, pack
from npudoctor.migrate.sync.analysis import Analysis, analyse
from npudoctor.migrate.sync.catalogue import Read
from npudoctor.migrate.sync.forms import indent_of
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat(
    "{reads} copies to the host ({values}), each a transfer of its own, <when>",
    "{reads} 次拷贝到主机（{values}），每次单独传输（<often>）",
)
_CAUSE = Text(
    "each copy drains the stream and pays the fixed cost of a transfer; the first one already waits for "
    "all work",
    "每次拷贝都会排空流，并付出一次传输的固定开销；第一次拷贝就已等待全部计算完成",
)
_FIX = Text(
    "copy {values} with one call of {helper}(): it joins the tensors of one dtype into one transfer and "
    "gives back host tensors with the same bits, shapes and memory of their own",
    "用一次 {helper}() 调用拷贝 {values}：它将 dtype 相同的张量合并为一次传输，返回的主机张量逐位相同、"
    "形状不变且各自拥有内存",
)
_LEFT_FIX = Text(
    "copy {values} at one place: join those of one dtype with "
    "torch.cat([t.reshape(-1) for t in (...)]).cpu() and "
    "split on the host (torch.cat of different dtypes would convert them), or keep the rollout buffer on "
    "the device and copy it once per update",
    "在同一处拷贝 {values}：将 dtype 相同的张量用 torch.cat([t.reshape(-1) for t in (...)]).cpu() 合并后在"
    "主机上拆分（dtype 不同时 torch.cat 会做转换）；或将 rollout 缓冲区留在设备上，每次更新只拷贝一次",
)
_MESSAGE = Message(
    Text("several copies to the host in one step", "同一步内多次拷贝到主机"),
    _CAUSE,
    _LEFT_FIX,
    sources=(SOURCE_COPY,),
)
_WIDTH = 110


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every group of copies that stand together: joined where nothing runs in between, else told."""
    del node
    analysis = analyse(ctx)
    for found in analysis.packs:
        first = found.copies[0].node
        edits, helper = _edits(ctx, found)
        if edits:
            heat = analysis.loops.paced(first)
            told = message(_TITLE[heat], _CAUSE, _FIX, heat, SOURCE_COPY)
            values = _listed(ctx.text(c.tensor) for c in found.copies)
            params: dict[str, Any] = {"heat": heat.value, "values": values, "helper": helper}
            params.update({"reads": len(found.copies), "syncs": found.saved})
            yield change(ctx, first, *edits, message=told, **params)
    for group in analysis.copies:
        heat = group[0].heat
        told = message(_TITLE[heat], _reason(analysis, group), _LEFT_FIX, heat, SOURCE_COPY)
        params = {"reads": len(group), "syncs": len(group), "heat": heat.value}
        params["values"] = _listed(ctx.text(r.value) for r in group)
        yield change(ctx, group[0].node, message=told, **params)


def _listed(texts: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(text[:40] for text in texts))


def _edits(ctx: ModuleContext, found: pack.Pack) -> tuple[tuple[Edit, ...], str]:
    """One call before the copies, a name in the place of each, and the function that is called."""
    torch, indent = pack.torch_at_top(ctx), indent_of(ctx, found.first)
    if torch is None or indent is None:
        return (), ""
    helper, present = hosthelper.name_in(ctx, torch, found.first)
    names = pack.new_names(ctx, found)
    edits = []
    for copy, name in zip(found.copies, names):
        start, end = ctx.span(copy.node)
        inner_start, inner_end = ctx.span(copy.tensor)
        if "#" in ctx.source[start:inner_start] + ctx.source[inner_end:end]:
            return (), ""
        edits.append(Edit(start, end, name))
    tensors = [pack.argument(ctx, copy) for copy in found.copies]
    start, _ = ctx.line_span(found.first.lineno)
    line = f"{indent}{', '.join(names)} = {helper}({', '.join(tensors)})\n"
    if len(line) > _WIDTH:
        inner = indent + ("\t" if "\t" in indent else "    ")
        line = f"{indent}{', '.join(names)} = {helper}(\n{inner}{', '.join(tensors)}\n{indent})\n"
    edits.append(Edit(start, start, line))
    if not present:
        added = hosthelper.insertion(ctx, found.first, hosthelper.text_of(helper, torch, "\t" in indent))
        if added is None:
            return (), ""
        edits.append(added)
    return tuple(edits), helper


def _reason(analysis: Analysis, group: Sequence[Read]) -> Text:
    """Why the copies of one block were not joined."""
    classes = [analysis.values.of(read.value).dtype for read in group]
    if "" not in classes and len(set(classes)) == len(classes):
        return pack.DTYPES
    hazard = pack.hazard(analysis.ctx, analysis.ctx.statement(group[0].node))
    if hazard is not None:
        return hazard
    ends = [analysis.ctx.text(read.node) for read in group]
    return pack.BETWEEN if sum(".numpy(" in e or ".tolist(" in e for e in ends) > 1 else pack.TENSORS


RULE = Rule(
    "NPU205",
    "host-copies-of-one-step",
    _MESSAGE,
    Safety.SAFE,
    (".cpu(", ".to(", ".numpy(", ".tolist("),
    (ast.Module,),
    run,
    also_dual=True,
)
