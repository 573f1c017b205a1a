"""Migrate one module: text in, text and findings out. No I/O.

Rounds: every rule looks at the parsed text and proposes changes; those that fit together
are spliced in; the next round looks at the result. The last round proposes nothing more,
so a second run changes nothing; what its rules still report is left for a person.
"""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch

from npudoctor.core.errors import UserError
from npudoctor.core.finding import Place, Safety
from npudoctor.migrate import edits as splice
from npudoctor.migrate import suppress
from npudoctor.migrate.api import Change, Edit, Rule, is_dual
from npudoctor.migrate.context import ModuleContext
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.result import (
    BARE_COMMENT,
    NOT_PARSED,
    PROBLEM,
    UNSTABLE,
    UNUSED,
    UNUSED_COMMENT,
    FileResult,
    Outcome,
    finding_of,
    line_of,
    message_finding,
    place_of,
    problem,
    reason_of,
)
from npudoctor.migrate.settings import Settings

__all__ = ["PROBLEM", "UNUSED", "FileResult", "Outcome", "all_rules", "comments", "migrate_source"]


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of `npudoctor.migrate.rules`, by code."""
    from npudoctor.core.registry import collect
    from npudoctor.migrate import rules

    return tuple(unit for _, unit in sorted(collect(rules, "RULE", "npu").items()))


def migrate_source(
    text: str,
    path: str = "<string>",
    settings: Settings | None = None,
    project: ProjectIndex | None = None,
    rules: Sequence[Rule] | None = None,
) -> FileResult:
    """Migrate one Python module.

    Args:
        text: the module, decoded, without a byte order mark; line ends as `\\n` (`source` brings them back).
        path: relative to the project, with `/`; goes into findings, never opened.
        settings: style, target version, selection.
        project: facts about the other modules; without them cross-file proofs fail safe.
        rules: for tests; default: every rule.

    Returns:
        The result; never raises for bad input.
    """
    settings = settings or Settings()
    present = _Present(text)
    every = all_rules() if rules is None else rules
    triggered = any(_triggered(r, present) and _wanted(r, path, settings) for r in every)
    # What follows from other rules' changes is wanted wherever one of them is.
    wanted = [
        r for r in every if triggered and (r.follows or _triggered(r, present)) and _wanted(r, path, settings)
    ]
    marks = suppress.find(text)
    if not wanted and not marks.codes and not marks.bare:
        return FileResult(path, text)
    run = _Run(text, path, settings, project or ProjectIndex(), wanted, marks)
    try:
        return run.result()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return problem(text, path, NOT_PARSED, reason_of(error), line_of(error))
    except UserError:
        raise
    except Exception as error:  # a fault of one rule must not cost the user the other files
        return problem(text, path, UNSTABLE, f"internal error {type(error).__name__}: {error}")


def _wanted(rule: Rule, path: str, settings: Settings) -> bool:
    if not settings.enabled(rule.code) or not rule.applies(settings):
        return False
    globs = settings.per_file_ignores.items()
    return not any(rule.code.startswith(tuple(codes)) and fnmatch(path, glob) for glob, codes in globs)


class _Present(dict[str, bool]):
    """Literal -> whether a text holds it; each is looked for once, however many rules start from it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __missing__(self, literal: str) -> bool:
        found = self[literal] = literal in self._text
        return found


def _triggered(rule: Rule, present: _Present) -> bool:
    for trigger in rule.triggers:
        if present[trigger] if isinstance(trigger, str) else all(present[t] for t in trigger):
            return True
    return False


class _Run:
    """The rounds over one module."""

    def __init__(
        self,
        text: str,
        path: str,
        settings: Settings,
        project: ProjectIndex,
        rules: Sequence[Rule],
        marks: suppress.Suppressions,
    ) -> None:
        self.first = text
        self.path = path
        self.settings = settings
        self.project = project
        self.rules = rules
        self.marks = marks
        self.map = splice.OffsetMap()
        self.applied: list[tuple[Rule, Change, tuple[int, int], tuple[Edit, ...]]] = []

    def result(self) -> FileResult:
        original = ctx = ModuleContext(self.first, self.path, self.settings, self.project)
        if is_dual(ctx):
            self.rules = [r for r in self.rules if r.also_dual]
        try:
            for _ in range(self.settings.max_rounds):
                proposed = self._propose(ctx)
                chosen = self._choose(ctx, proposed)
                if not chosen:
                    return self._finish(ctx, proposed)
                new = self._apply(ctx.source, chosen)
                if ctx is not original:
                    ctx.memo.clear()
                ctx = ModuleContext(new, self.path, self.settings, self.project, original)
        finally:  # what was worked out points back at its context: without it, memory is freed at once
            ctx.memo.clear()
            original.memo.clear()
        reason = f"not stable after {self.settings.max_rounds} rounds"
        return problem(self.first, self.path, UNSTABLE, reason)

    def _propose(self, ctx: ModuleContext) -> list[tuple[Rule, Change]]:
        by_type: dict[type[ast.AST], list[Rule]] = {}
        present = _Present(ctx.source)
        for rule in self.rules:
            if rule.follows or _triggered(rule, present):  # after a round, little is left to look at
                for node_type in rule.nodes:
                    by_type.setdefault(node_type, []).append(rule)
        found: list[tuple[Rule, Change]] = []
        for node_type, rules in by_type.items():
            runs = [(rule, rule.run) for rule in rules]
            for node in ctx.names.by_type.get(node_type, ()):
                for rule, run in runs:
                    for change in run(node, ctx):
                        found.append((rule, _settled(rule, change)))
        return [(r, c) for r, c in found if not self._hidden(ctx, r, c)]

    def _choose(self, ctx: ModuleContext, proposed: list[tuple[Rule, Change]]) -> list[tuple[Rule, Change]]:
        """What is applied in this round, with what follows from it."""
        able = [(r, c) for r, c in proposed if self._may_apply(c) and not _drops_comment(ctx.source, c)]
        taken = {id(c) for c in splice.choose([c for _, c in able])}
        chosen = [(r, c) for r, c in able if id(c) in taken]
        for rule in self.rules:
            if rule.follows is not None and chosen:
                more = [
                    (rule, _settled(rule, c)) for c in rule.follows(ctx, [(r.code, c) for r, c in chosen])
                ]
                able += [(r, c) for r, c in more if not self._hidden(ctx, r, c)]
        if len(able) > len(taken):
            taken = {id(c) for c in splice.choose([c for _, c in able])}
            chosen = [(r, c) for r, c in able if id(c) in taken]
        return chosen

    def _hidden(self, ctx: ModuleContext, rule: Rule, change: Change) -> bool:
        if not self.marks.codes:
            return False
        last = max(change.start, change.end - 1)
        lines = [ctx.original.position(self.map.back(x))[0] for x in (change.start, last)]
        return self.marks.hides(rule.code, lines[0], lines[1])

    def _may_apply(self, change: Change) -> bool:
        if not change.edits or change.safety is Safety.MANUAL:
            return False
        return change.safety is Safety.SAFE or self.settings.unsafe

    def _apply(self, source: str, chosen: list[tuple[Rule, Change]]) -> str:
        edits = [e for _, c in chosen for e in c.edits]
        for rule, change in chosen:
            place = (self.map.back(change.start), self.map.back(change.end))
            self.applied.append((rule, change, place, self._old_edits(change)))
        new = splice.apply(source, edits)
        self.map.add(edits)
        return new

    def _finish(self, ctx: ModuleContext, left: list[tuple[Rule, Change]]) -> FileResult:
        first = ctx.original
        outcomes = [
            (
                place[0],
                Outcome(
                    finding_of(rule, change, place_of(first, place)),
                    True,
                    old,
                    ctx.position(self.map.forward(place[0]))[0],
                    change.safety or rule.safety,
                ),
            )
            for rule, change, place, old in self.applied
        ]
        for rule, change in left:
            place = (self.map.back(change.start), self.map.back(change.end))
            outcome = Outcome(
                finding_of(rule, change, place_of(first, place)),
                False,
                self._old_edits(change),
                ctx.position(change.start)[0],
                change.safety or Safety.MANUAL,
            )
            outcomes.append((place[0], outcome))
        outcomes += [(first.line_span(o.line)[0], o) for o in self._suppression_findings()]
        outcomes.sort(key=lambda pair: (pair[0], pair[1].finding.code))
        counts = Counter(rule.code for rule, _, _, _ in self.applied)
        changed = ctx.source != self.first
        found = tuple(outcome for _, outcome in outcomes)
        return FileResult(self.path, ctx.source, changed, found, dict(sorted(counts.items())))

    def _old_edits(self, change: Change) -> tuple[Edit, ...]:
        """The edits in coordinates of the first text, or none if an earlier round touched the place."""
        back, known = self.map.back, self.map.untouched
        if not all(known(e.start, e.end) for e in change.edits):
            return ()
        return tuple(Edit(back(e.start), back(e.end), e.text, e.group) for e in change.edits)

    def _suppression_findings(self) -> list[Outcome]:
        active = {r.code for r in all_rules() if self.settings.enabled(r.code) and r.applies(self.settings)}
        useless = [
            (line, UNUSED_COMMENT, {"code": code})
            for line, code in self.marks.unused()
            if code in active or not code.startswith("NPU")
        ]
        useless += [(line, BARE_COMMENT, {}) for line in self.marks.bare]
        return [
            Outcome(
                message_finding(UNUSED, "unused-suppression", message, params, Place(self.path, line)),
                False,
                line=line,
            )
            for line, message, params in useless
        ]


def _settled(rule: Rule, change: Change) -> Change:
    """The change with its safety filled in."""
    safety = Safety.MANUAL if not change.edits else (change.safety or rule.safety)
    return replace(change, safety=safety)


def _drops_comment(source: str, change: Change) -> bool:
    """Whether a change would lose a comment; it is then left for a person."""
    old = [source[e.start : e.end] for e in change.edits]
    if not any("#" in text for text in old):
        return False
    lost = Counter(c for text in old for c in comments(text))
    lost.subtract(c for edit in change.edits for c in comments(edit.text))
    return any(count > 0 for count in lost.values())


def comments(text: str) -> list[str]:
    """Comments of a piece of Python, complete or not."""
    if "#" not in text:
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string.rstrip())
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # a fragment may end inside brackets; the comments before that were seen
    return found
