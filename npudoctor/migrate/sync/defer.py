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
from npudoctor.migrate.sync.drain import Drain
from npudoctor.migrate.sync.forms import (
    after_statement,
    before_statement,
    indent_of,
    indent_unit,
    kept_tensor,
)
from npudoctor.migrate.sync.sites import Site
from npudoctor.migrate.sync.terms import Term

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.sync.analysis import Analysis


def edits(analysis: Analysis, drains: Sequence[Drain]) -> dict[str, tuple[Edit, ...]]:
    """Edits by name and kind, for drains of one loop that are all lists, or all sums.

    The lines before and after the loop serve all of them and are the same edit in each.
    A drain whose text is unusual is missing from the result.
    """
    ctx, loop = analysis.ctx, drains[0].loop
    torch = hazards.torch_name(ctx, loop) if loop is not None else None
    indent = indent_of(ctx, loop) if loop is not None else None
    if loop is None or torch is None or indent is None:
        return {}
    names = _Names(ctx.source)
    group = f"drain:{loop.lineno}:{drains[0].is_sum}:{drains[0].assumes}"
    found: dict[str, tuple[Edit, ...]] = {}
    before: list[str] = []
    after: list[str] = []
    for drain in drains:
        plan = _Plan(ctx, drain, names)
        collected = [_collect(analysis, site, drain, plan, group) for site in drain.sites]
        if any(e is None for e in collected) or plan.addend is None:
            continue
        found[drain.name + drain.kind] = tuple(e for e in collected if e is not None)
        before += [f"{indent}{line}\n" for line in plan.before]
        after += [f"{indent}{line}\n" for line in plan.after(torch, indent_unit(ctx, loop))]
    shared = _around(analysis, loop, "".join(before), "".join(after), group)
    return {name: own + shared for name, own in found.items()}


class _Plan:
    """The lines of one drain around its loop.

    Attributes:
        parts: the list of tensors; factors: the list of the host numbers beside them, or empty.
        addend: what is added after the loop, None when the text is unusual.
    """

    def __init__(self, ctx: ModuleContext, drain: Drain, names: _Names) -> None:
        self._drain, self._names = drain, names
        self.target = ctx.text(drain.sites[0].target)
        word = re.sub(r"\W+", "_", drain.name.replace("self.", "")).strip("_")
        self.parts = names.new(f"{word}_parts") if drain.is_sum else self.target
        term = drain.term
        kept = term.kept if term is not None else ()
        self.factors = names.new(f"{word}_factors") if kept else ""
        self.each = [names.factor(i) for i in range(len(kept))]
        self.addend = _addend(ctx, term, names.part, self.each) if term is not None else None

    @property
    def before(self) -> list[str]:
        """Lines before the loop."""
        made = (self.parts, self.factors) if self._drain.is_sum else (self.factors,)
        return [f"{name} = []" for name in made if name]

    def after(self, torch: str, unit: str) -> list[str]:
        """Lines after the loop."""
        read = f"{torch}.stack({self.parts}).tolist() if {self.parts} else []"
        part, first = self._names.part, f"{self.parts} = {read}"
        each = ", ".join(self.each)
        each = each if len(self.each) == 1 else f"({each})"
        turns = f"for {part}, {each} in zip({self.parts}, {self.factors})" if self.factors else ""
        if not self._drain.is_sum:
            again = turns or f"for {part} in {self.parts}"
            calculated = [f"{self.parts} = [{self.addend} {again}]"] if self.addend != part else []
            return [first, *calculated]
        add = f"{unit}{self.target} {self._drain.kind} {self.addend}"
        return [first, f"{turns}:", add] if turns else [f"for {part} in {read}:", add]


def _addend(ctx: ModuleContext, term: Term, part: str, each: Sequence[str]) -> str | None:
    """The text of the term with `part` for the read and a name for each host number."""
    if term.plain:
        return part
    start, end = ctx.span(term.whole)
    swaps = [(ctx.span(term.read), part), *((ctx.span(k), name) for k, name in zip(term.kept, each))]
    text = ctx.source[start:end]
    for (at, to), name in sorted(swaps, reverse=True):
        left, right = text[: at - start], text[to - start :]
        if re.search(r"(^|[^\w)\]])\($", left) and right.startswith(")"):  # its own parentheses
            left, right = left[:-1], right[1:]
        text = left + name + right
    return None if "\n" in text or "#" in text else text


def _around(analysis: Analysis, loop: LoopNode, before: str, after: str, group: str) -> tuple[Edit, ...]:
    """Insert whole lines before and after the loop."""
    found = []
    if before:
        start = before_statement(analysis.ctx, loop)
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
        self._factors: list[str] = []

    def factor(self, index: int) -> str:
        """The loop variable for the host number at `index` of a term; the loops share them."""
        while len(self._factors) <= index:
            count = len(self._factors)
            self._factors.append(self.new("factor" if count == 0 else f"factor{count + 1}"))
        return self._factors[index]

    def new(self, wanted: str) -> str:
        """`wanted`, with underscores as needed."""
        name = wanted
        while name in self._taken or re.search(rf"\b{re.escape(name)}\b", self._source):
            name += "_"
        self._taken.add(name)
        return name


def _collect(analysis: Analysis, site: Site, drain: Drain, plan: _Plan, group: str) -> Edit | None:
    """The edit at one site: the tensor instead of the number."""
    ctx, read = analysis.ctx, site.read
    clone = needs_clone(ctx, analysis.values, read.value)
    reshape = analysis.values.of(read.value).dims != "0"
    text = kept_tensor(ctx, read, clone, reshape)
    if text is None:
        return None
    if not site.is_sum and (drain.term is None or drain.term.plain):
        start, end = ctx.span(read.node)
        return Edit(start, end, text, group)
    start, end = ctx.span(site.statement)
    if "#" in ctx.source[start:end] or _hangs(ctx.source[start:end]):
        return None
    added = f"{plan.parts}.append({text})"
    if plan.factors and drain.term is not None:
        indent = indent_of(ctx, site.statement)
        kept = [ctx.text(k) for k in drain.term.kept]
        if indent is None or any("\n" in k for k in kept):
            return None
        added += (
            f"\n{indent}{plan.factors}.append({kept[0] if len(kept) == 1 else '(' + ', '.join(kept) + ')'})"
        )
    return Edit(start, end, added, group)


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
