"""Idioms of files that are not Python: one module each, found by walking this package.

An idiom is a pure function over a `View`. It rewrites what is certain and reports the rest.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from npudoctor.core.finding import Finding, Fix, Place, Safety, Severity
from npudoctor.core.text import Text
from npudoctor.migrate import edits as splice
from npudoctor.migrate import suppress
from npudoctor.migrate.api import Change, Edit, Message
from npudoctor.migrate.engine import FileResult, Outcome
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import LineStarts, View, Word

__all__ = [
    "Change", "Edit", "Idiom", "Message", "Safety", "Settings", "Severity", "Text", "View", "Word",
    "all_idioms", "found", "scan", "swap",
]


@dataclass(frozen=True)
class Idiom:
    """One idiom.

    Attributes:
        code, slug: stable names; the slug names the fault, never the cure.
        message: the words of its findings, unless a change brings its own.
        run: yields changes; performs no I/O.
    """

    code: str
    slug: str
    message: Message
    run: Callable[[View, Settings], Iterable[Change]]

    @property
    def title(self) -> Text:
        """The fault in one line."""
        return self.message.title


@functools.cache
def all_idioms() -> tuple[Idiom, ...]:
    """Every idiom, by code."""
    from npudoctor.core.registry import collect
    from npudoctor.migrate import idioms

    return tuple(unit for _, unit in sorted(collect(idioms, "IDIOM", "npu").items()))


def swap(word: Word, start: int, end: int | None, text: str) -> Edit | None:
    """Replace `word.text[start:end]` by `text`; None where a quote or an escape stands in between."""
    first, last = word.span(start, end)
    return Edit(first, last, text) if last - first == len(word.text[start:end]) else None


def found(
    view: View, word: Word, *edits: Edit | None, message: Message | None = None, **params: object
) -> Change:
    """A change at `word`; the parameter `code` is filled with its text."""
    start, end = word.span()
    shown = word.text if len(word.text) <= 80 else word.text[:77] + "..."
    if view.report_only:  # it serves the machines of the service, not the user's
        return Change(start, end, {"code": shown, **params}, (), message=message, severity=Severity.NOTE)
    made = tuple(edit for edit in edits if edit is not None)
    complete = made if len(made) == len(edits) else ()
    return Change(start, end, {"code": shown, **params}, complete, message=message)


def scan(view: View, settings: Settings) -> FileResult:
    """Every idiom over one view: the new text and what was found.

    Only values change, so one round is enough; overlapping proposals wait for the first.
    """
    marks = suppress.find(view.text)
    lines = LineStarts(view.text)
    proposed = [
        (idiom, replace(change, safety=Safety.SAFE if change.edits else Safety.MANUAL))
        for idiom in all_idioms()
        if settings.enabled(idiom.code)
        for change in idiom.run(view, settings)
        if not marks.codes or not marks.hides(idiom.code, *2 * (lines.line(change.start),))
    ]
    chosen = {id(c) for c in splice.choose([c for _, c in proposed if c.edits])}
    edits = [e for _, c in proposed if id(c) in chosen for e in c.edits]
    text = splice.apply(view.text, edits)
    outcomes = [(c.start, _outcome(view, i, c, id(c) in chosen, lines)) for i, c in proposed]
    outcomes.sort(key=lambda pair: (pair[0], pair[1].finding.code))
    counts = Counter(i.code for i, c in proposed if id(c) in chosen)
    found_here = tuple(outcome for _, outcome in outcomes)
    return FileResult(view.path, text, text != view.text, found_here, dict(sorted(counts.items())))


def _outcome(view: View, idiom: Idiom, change: Change, applied: bool, lines: LineStarts) -> Outcome:
    message = change.message or idiom.message
    line, column = lines.position(change.start)
    end_line, end_column = lines.position(change.end)
    safety = Safety.SAFE if applied else Safety.MANUAL
    finding = Finding(
        idiom.code, idiom.slug, change.severity or message.severity, message.title, message.cause,
        Place(view.path, line, column, end_line, end_column), dict(change.params),
        fixes=(Fix(message.fix, safety=safety),), sources=message.sources,
    )
    return Outcome(finding, applied, change.edits, line, safety)
