"""The edits of a proved drain: keep the tensors in the loop, read them back once after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npudoctor.migrate.api import Edit
from npudoctor.migrate.loops import LoopNode
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.alias import needs_clone
from npudoctor.migrate.sync.drain import Drain, Site
from npudoctor.migrate.sync.forms import after_statement, indent_of, indent_unit, kept_tensor

if TYPE_CHECKING:
    from npudoctor.migrate.sync.analysis import Analysis


def edits(analysis: Analysis, drains: Sequence[Drain]) -> dict[str, tuple[Edit, ...]]:
    """Edits by name, for drains of one loop and one kind (lists, or sums).

    The lines before and after the loop serve all of them and are the same edit in each.
    A drain whose text is unusual is missing from the result.
    """
    ctx, loop = analysis.ctx, drains[0].loop
    torch = hazards.torch_name(ctx, loop) if loop is not None else None
    indent = indent_of(ctx, loop) if loop is not None else None
    if loop is None or torch is None or indent is None:
        return {}
    names = _Names(ctx.source)
    group = f"drain:{loop.lineno}:{drains[0].is_sum}"
    found: dict[str, tuple[Edit, ...]] = {}
    before, after = "", ""
    for drain in drains:
        parts = names.new(f"{drain.name}_parts") if drain.is_sum else drain.name
        collected = [_collect(analysis, site, parts, group) for site in drain.sites]
        if any(e is None for e in collected):
            continue
        found[drain.name] = tuple(e for e in collected if e is not None)
        read = f"{torch}.stack({parts}).tolist() if {parts} else []"
        if drain.is_sum:
            before += f"{indent}{parts} = []\n"
            after += f"{indent}for {names.part} in {read}:\n"
            after += f"{indent}{indent_unit(ctx, loop)}{drain.name} += {names.part}\n"
        else:
            after += f"{indent}{parts} = {read}\n"
    shared = _around(analysis, loop, before, after, group)
    return {name: own + shared for name, own in found.items()}


def _around(analysis: Analysis, loop: LoopNode, before: str, after: str, group: str) -> tuple[Edit, ...]:
    """Insert whole lines before and after the loop."""
    found = []
    if before:
        start, _ = analysis.ctx.line_span(loop.lineno)
        found.append(Edit(start, start, before, group))
    end, missing = after_statement(analysis.ctx, loop)
    found.append(Edit(end, end, ("\n" + after[:-1]) if missing else after, group))
    return tuple(found)


class _Names:
    """Names that the module does not know yet."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken: set[str] = set()
        self.part = self.new("part")

    def new(self, wanted: str) -> str:
        """`wanted`, with underscores as needed."""
        name = wanted
        while name in self._taken or re.search(rf"\b{re.escape(name)}\b", self._source):
            name += "_"
        self._taken.add(name)
        return name


def _collect(analysis: Analysis, site: Site, parts: str, group: str) -> Edit | None:
    """The edit at one site: the tensor instead of the number."""
    ctx, read = analysis.ctx, site.read
    clone = needs_clone(ctx, analysis.values, read.value)
    reshape = analysis.values.of(read.value).dims != "0"
    text = kept_tensor(ctx, read, clone, reshape)
    if text is None:
        return None
    if not site.is_sum:
        start, end = ctx.span(read.node)
        return Edit(start, end, text, group)
    start, end = ctx.span(site.statement)
    if "#" in ctx.source[start:end] or _hangs(ctx.source[start:end]):
        return None
    return Edit(start, end, f"{parts}.append({text})", group)


def _hangs(text: str) -> bool:
    """Whether a statement is continued with backslashes."""
    return "\\\n" in text


def loops_with(drains: Sequence[Drain]) -> list[list[Drain]]:
    """Proved drains grouped by their loop, in source order."""
    groups: dict[ast.AST, list[Drain]] = {}
    for drain in drains:
        if drain.refusal is None and drain.loop is not None:
            groups.setdefault(drain.loop, []).append(drain)
    return list(groups.values())
