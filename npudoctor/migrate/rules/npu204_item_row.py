"""`a.item()`, `b.item()`, ... in a row -> one stacked transfer for those that are proved alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.analysis import Analysis, analyse
from npudoctor.migrate.sync.forms import indent_of
from npudoctor.migrate.sync.rows import NOT_PROVED_CAUSE, Row
from npudoctor.migrate.sync.words import SOURCE_SCALAR, by_heat, message

_TITLE = by_heat(
    "{reads} scalar reads in a row, each a transfer of its own, <when>",
    "连续 {reads} 次标量读取，每次单独传输（<often>）",
)
_CAUSE = Text(
    "every .item() is a blocking copy of one element with its own fixed cost; the first one already waits "
    "for all work",
    "每个 .item() 都是一次单元素阻塞拷贝，都有固定开销；第一次读取就已等待全部计算完成",
)
_FIX = Text(
    "stack {joined} and read them with one .tolist(): the same numbers to the last bit",
    "将 {joined} 堆叠后用一次 .tolist() 读回：数值逐位相同",
)
_LEFT_FIX = Text(
    "read those of {values} that are 0-dim tensors of one dtype on one device together: "
    "`a, b = torch.stack((x, y)).tolist()`",
    "将 {values} 中位于同一设备、dtype 相同的零维张量一起读回：`a, b = torch.stack((x, y)).tolist()`",
)
_MESSAGE = Message(Text("scalar reads in a row", "连续的标量读取"), _CAUSE, _FIX, sources=(SOURCE_SCALAR,))
_WIDTH = 110


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every row of scalar reads: joined where proved, told when long."""
    del node
    analysis = analyse(ctx)
    for row in analysis.rows:
        edits, names = _join(analysis, row)
        heat = analysis.loops.paced(row.first)
        params: dict[str, Any] = {"heat": heat.value, "joined": ", ".join(names)}
        if edits:
            told = message(_TITLE[heat], _CAUSE, _FIX, heat, SOURCE_SCALAR)
            yield change(
                ctx,
                row.joint[0].node,
                *edits,
                message=told,
                reads=len(row.joint),
                **params,
                syncs=len(row.joint) - 1,
            )
            continue
        left = analysis.told(row)
        if left:
            told = message(_TITLE[heat], NOT_PROVED_CAUSE, _LEFT_FIX, heat, SOURCE_SCALAR)
            params["values"] = ", ".join(dict.fromkeys(ctx.text(r.value)[:40] for r in left))
            yield change(ctx, left[0].node, message=told, reads=len(left), **params, syncs=len(left))


def _join(analysis: Analysis, row: Row) -> tuple[tuple[Edit, ...], list[str]]:
    """One transfer before the row, and a name in the place of each joint read."""
    ctx = analysis.ctx
    names = list(dict.fromkeys(r.value.id for r in row.joint if isinstance(r.value, ast.Name)))
    torch, indent = hazards.torch_name(ctx, row.first), indent_of(ctx, row.first)
    if len(names) < 2 or torch is None or indent is None:
        return (), []
    new = {name: _new_name(ctx.source, f"{name}_value") for name in names}
    edits = []
    for read in row.joint:
        start, end = ctx.span(read.node)
        if "#" in ctx.source[start:end]:
            return (), []
        edits.append(Edit(start, end, new[read.value.id]))  # type: ignore[attr-defined]
    start, _ = ctx.line_span(row.first.lineno)
    line = f"{indent}{', '.join(new.values())} = {torch}.stack(({', '.join(names)})).tolist()\n"
    if len(line) > _WIDTH:
        inner = indent + ("\t" if "\t" in indent else "    ")
        line = (
            f"{indent}{', '.join(new.values())} = {torch}.stack(\n"
            f"{inner}({', '.join(names)})\n{indent}).tolist()\n"
        )
    return (Edit(start, start, line), *edits), names


def _new_name(source: str, wanted: str) -> str:
    while re.search(rf"\b{re.escape(wanted)}\b", source):
        wanted += "_"
    return wanted


RULE = Rule("NPU204", "item-row", _MESSAGE, Safety.SAFE, (".item(",), (ast.Module,), run, also_dual=True)
