"""Run every check over the facts, order what they found by cause, fold consequences under it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from npudoctor.check import checks
from npudoctor.check.api import Check, Skip
from npudoctor.core.finding import Finding, Severity, in_words
from npudoctor.core.registry import RegistryError, collect
from npudoctor.core.report import Unit
from npudoctor.core.text import Text
from npudoctor.machine.facts import Machine, Unknown, at
from npudoctor.pairing.table import Tables
from npudoctor.pairing.versions import BadVersion

_UNKNOWN = Text("not known: {place} ({detail})", "无法获知：{place}（{detail}）")
_UNKNOWN_PLACE = Text("not known: {place}", "无法获知：{place}")
_NO_VERSION = Text("not a version number: {text}", "不是版本号：{text}")
_CRASHED = Text(
    "this check crashed ({kind}: {message}); please report it",
    "此项检查自身崩溃（{kind}：{message}），请反馈",
)
_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What the checks say of one machine."""

    findings: tuple[Finding, ...]
    passed: tuple[Unit, ...]
    not_checked: tuple[Unit, ...]


@functools.cache
def all_checks() -> Mapping[str, Check]:
    """Every check by code, in order of cause.

    Raises:
        RegistryError: a malformed module, or causes that explain each other in a circle.
    """
    found: dict[str, Check] = collect(checks, "CHECK", "npu")
    unknown = {c for check in found.values() for c in check.explained_by} - set(found)
    if unknown:
        raise RegistryError(f"explained_by names codes that do not exist: {sorted(unknown)}")
    try:
        TopologicalSorter({code: check.explained_by for code, check in found.items()}).prepare()
    except CycleError as error:
        raise RegistryError(f"checks explain each other in a circle: {error.args[1]}") from None
    return dict(sorted(found.items()))


def diagnose(
    machine: Machine,
    tables: Tables,
    units: Mapping[str, Check] | None = None,
    *,
    ignore: frozenset[str] = frozenset(),
) -> Diagnosis:
    """Judge the facts with every check (or with `units`) but those whose codes are in `ignore`."""
    hits: list[tuple[Check, Finding]] = []
    passed: list[Unit] = []
    not_checked: list[Unit] = []
    for check in (all_checks() if units is None else units).values():
        if check.code in ignore:
            continue
        outcome = _run(check, machine, tables)
        if isinstance(outcome, Unit):
            not_checked.append(outcome)
        elif outcome:
            hits.extend((check, finding) for finding in outcome)
        elif outcome is not None:
            passed.append(Unit(check.code, check.slug, check.title))
    return Diagnosis(fold(hits), tuple(passed), tuple(not_checked))


def _run(check: Check, machine: Machine, tables: Tables) -> list[Finding] | Unit | None:
    """Findings, or why the check did not judge, or None when it means nothing here."""
    try:
        for path in check.needs:
            leaf = at(machine, path)
            if isinstance(leaf, Unknown):
                params: dict[str, object] = {"place": leaf.place or path, "detail": in_words(leaf.detail)}
                reason = _UNKNOWN if leaf.detail else _UNKNOWN_PLACE
                return Unit(check.code, check.slug, check.title, reason, params)
        return list(check.run(machine, tables)) if check.applies(machine) else None
    except Skip as skip:
        return Unit(check.code, check.slug, check.title, skip.reason, skip.params)
    except BadVersion as bad:
        return Unit(check.code, check.slug, check.title, _NO_VERSION, {"text": bad.text})
    except Exception as error:  # one broken check must not hide the others
        params = {"kind": type(error).__name__, "message": str(error)[:200]}
        return Unit(check.code, check.slug, check.title, _CRASHED, params)


def fold(hits: Iterable[tuple[Check, Finding]]) -> tuple[Finding, ...]:
    """Root causes in order, each with the findings it explains folded under it.

    A finding goes under the first of its check's `explained_by` codes that also fired, in
    order of cause; a mere note explains nothing. Roots that hold an error come first.
    """
    found = sorted(hits, key=lambda hit: hit[0].code)
    first: dict[str, int] = {}
    for index, (check, finding) in enumerate(found):
        if finding.severity is not Severity.NOTE:
            first.setdefault(check.code, index)
    children: dict[int, list[int]] = {}
    roots: list[int] = []
    for index, (check, _) in enumerate(found):
        parents = sorted(first[code] for code in check.explained_by if code in first)
        if parents:
            children.setdefault(parents[0], []).append(index)
        else:
            roots.append(index)

    def build(index: int) -> Finding:
        below = tuple(build(child) for child in children.get(index, ()))
        return dataclasses.replace(found[index][1], consequences=below)

    return tuple(sorted((build(index) for index in roots), key=_worst))


def _worst(finding: Finding) -> int:
    return min(_RANK[one.severity] for one in finding.walk())
