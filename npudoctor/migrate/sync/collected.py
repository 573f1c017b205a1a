"""Findings and edits for reads that are collected in a loop (lists and running sums)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from npudoctor.core.text import Text
from npudoctor.migrate.api import Change, Edit, Safety, change
from npudoctor.migrate.loops import Heat
from npudoctor.migrate.sync import defer
from npudoctor.migrate.sync.analysis import Analysis, analyse
from npudoctor.migrate.sync.drain import NOT_TENSOR, Drain
from npudoctor.migrate.sync.words import SOURCE_SCALAR, message

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

Words = tuple[Mapping[Heat, Text], Text, Text, Text, Text]


def collected(ctx: ModuleContext, code: str, is_sum: bool, words: Words) -> Iterator[Change]:
    """One change per list (or sum): with edits when it is proved, else with the reason."""
    analysis = analyse(ctx)
    drains = [d for d in analysis.drains if d.is_sum is is_sum]
    done: set[int] = set()
    open_to = [d for d in drains if not suppressed(ctx, code, d)]
    for assumes in (False, True):
        for group in defer.loops_with([d for d in open_to if d.assumes is assumes]):
            for name, edits in defer.edits(analysis, group).items():
                drain = next(d for d in group if d.name + d.kind == name)
                done.add(id(drain))
                yield _change(analysis, drain, words, edits)
    for drain in drains:
        if id(drain) not in done and _worth_telling(analysis, drain):
            yield _change(analysis, drain, words, ())


def suppressed(ctx: ModuleContext, code: str, drain: Drain) -> bool:
    """Whether a comment at one of the reads keeps this rule away from the whole list."""
    for site in drain.sites:
        start, end = ctx.line_span(site.read.node.lineno)
        line = ctx.source[start:end]
        if "npudoctor: ignore[" in line and code in line:
            return True
    return False


def _worth_telling(analysis: Analysis, drain: Drain) -> bool:
    """Without a proof that the value is a tensor, NumPy's `.item()` would be reported too."""
    if drain.refusal is not NOT_TENSOR:
        return True
    return all(analysis.may_be_tensor(s.read) for s in drain.sites)


def _change(analysis: Analysis, drain: Drain, words: Words, edits: tuple[Edit, ...]) -> Change:
    title, cause, fix, left, assuming = words
    first = drain.sites[0].read.node
    heat = analysis.loops.paced(first)
    if edits:
        told = message(title[heat], cause, assuming if drain.assumes else fix, heat, SOURCE_SCALAR)
    else:
        told = message(title[heat], drain.refusal or UNUSUAL, left, heat, SOURCE_SCALAR)
    params: dict[str, Any] = {**drain.params, "heat": heat.value, "syncs": len(drain.sites)}
    safety = Safety.UNSAFE if edits and drain.assumes else None
    return change(analysis.ctx, first, *edits, message=told, safety=safety, **params)


UNUSUAL = Text(
    "left as it is: comments or line breaks stand inside the statement", "保持原样：语句内部含有注释或续行"
)
