"""Turn hits into an ordered answer: causes first, what only follows from them folded below."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace

from npudoctor.core.finding import Severity
from npudoctor.symptoms.codes import symptoms_for
from npudoctor.symptoms.match import ENOUGH, Hit, Scanner
from npudoctor.symptoms.rows import Rank, Symptom

_WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True)
class Match:
    """One symptom seen in a log.

    Attributes:
        symptom: the row.
        lines: its first matching lines as (number from 1, text), ascending.
        count: matching lines in all; a lower bound when `at_least`.
        related: lines of its `also` and `context` patterns.
        params: values of the named groups, for the texts.
        follows: matches that only follow from this one.
    """

    symptom: Symptom
    lines: tuple[tuple[int, str], ...]
    count: int
    at_least: bool
    related: tuple[tuple[int, str], ...] = ()
    params: dict[str, object] = field(default_factory=dict)
    follows: tuple[Match, ...] = ()

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key: rank, then severity, then the line it was first seen in."""
        return int(self.symptom.rank), _WEIGHT[self.symptom.severity], self.lines[0][0]


def ranked(scanner: Scanner) -> tuple[Match, ...]:
    """The matches of a scan, best explanation first.

    Consequences and wrappers are folded under the first match that can be their cause, and
    so are plain exceptions that come after a named cause.
    """
    matches = sorted(_matches(scanner), key=lambda match: match.order)
    roots = [m for m in matches if m.symptom.rank <= Rank.EXCEPTION]
    if not roots:
        return _fold(matches, Rank.CONSEQUENCE, Rank.WRAPPER)
    return _fold(matches, Rank.EXCEPTION, Rank.CONSEQUENCE)


def causes(scanner: Scanner) -> tuple[Match, ...]:
    """Those of `ranked` that name a cause: that Python raised something is known to who asks this."""
    return tuple(match for match in ranked(scanner) if match.symptom.rank < Rank.EXCEPTION)


def _fold(matches: list[Match], last_root: Rank, first_below: Rank) -> tuple[Match, ...]:
    """Put wrappers (and consequences) under the first root, keep notes at the end."""
    below = [m for m in matches if first_below <= m.symptom.rank <= Rank.WRAPPER]
    roots = [m for m in matches if m.symptom.rank <= last_root]
    notes = [m for m in matches if m.symptom.rank is Rank.NOTE]
    if not roots:
        return (*below, *notes)
    head, rest = roots[0], roots[1:]
    later = [m for m in rest if _follows(m, head)]
    first = Match(**{**vars(head), "follows": (*later, *below)})
    return (first, *(m for m in rest if m not in later), *notes)


def _follows(match: Match, cause: Match) -> bool:
    """Whether a plain exception comes after a cause that names itself."""
    plain = match.symptom.rank is Rank.EXCEPTION and cause.symptom.rank < Rank.EXCEPTION
    return plain and match.lines[0][0] > cause.lines[0][0]


def _matches(scanner: Scanner) -> list[Match]:
    by_symptom: dict[int, dict[str, list[Hit]]] = {}
    for probe, hit in scanner.hits.items():
        by_symptom.setdefault(probe.symptom, {}).setdefault(probe.role, []).append(hit)
    found = []
    for index, roles in by_symptom.items():
        symptom = scanner.symptoms[index]
        also = {probe.position for probe in scanner.hits if probe.symptom == index and probe.role == "also"}
        if "match" in roles and len(also) == len(symptom.also):
            found.append(_match(symptom, roles))
    return _named(found)


def _named(found: list[Match]) -> list[Match]:
    """A line that only gives a number is a match of the row that explains this number, if there is one."""
    seen = {match.symptom.id for match in found}
    named = []
    for match in found:
        code = str(match.params.get("code", "")) if match.symptom.fallback else ""
        rows = [row for row in symptoms_for(code) if code and row is not match.symptom]
        if len(rows) != 1:
            named.append(match)
        elif rows[0].id not in seen:
            params = dict.fromkeys(rows[0].parameters(), "?")
            named.append(replace(match, symptom=rows[0], params={**params, **rows[0].defaults, "code": code}))
    return named


def _match(symptom: Symptom, roles: dict[str, list[Hit]]) -> Match:
    main = roles["match"]
    others = [hit for role in ("also", "context") for hit in roles.get(role, [])]
    params: dict[str, object] = dict(symptom.defaults)
    for hit in (*others, *main):
        params.update({k: _tidy(k, v) for k, v in hit.groups.items()})
    lines = sorted({line for hit in main for line in hit.lines})
    return Match(
        symptom=symptom,
        lines=tuple(lines),
        count=sum(hit.count for hit in main),
        at_least=any(hit.count >= ENOUGH for hit in main),
        related=tuple(sorted({hit.lines[0] for hit in others} - set(lines))),
        params=params,
    )


def _tidy(name: str, value: str) -> str:
    """A path as the loader resolves it: `/opt/e/bin/../lib/x` -> `/opt/e/lib/x`."""
    return posixpath.normpath(value) if name == "path" else value
