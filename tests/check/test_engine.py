"""The engine: order by cause, folding, one crash among many, circles refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from npudoctor.check.api import Check, Severity, Skip
from npudoctor.check.engine import all_checks, diagnose, fold
from npudoctor.core.finding import Finding
from npudoctor.core.registry import RegistryError
from npudoctor.core.text import verbatim
from npudoctor.machine.facts import Machine
from npudoctor.pairing.table import load

T = verbatim("t")


def unit(code: str, severity: Severity = Severity.ERROR, explained_by: tuple[str, ...] = ()) -> Check:
    def run(machine: Machine, tables: object) -> Iterator[Finding]:
        yield Finding(code, code.lower(), severity, T, T)

    return Check(code, code.lower(), T, (), run, explained_by)


def hit(check: Check) -> tuple[Check, Finding]:
    return check, next(iter(check.run(Machine(), load())))


def shape(findings: tuple[Finding, ...]) -> list:
    return [(f.code, shape(f.consequences)) for f in findings]


def test_consequences_fold_under_the_nearest_root_in_order() -> None:
    a, b, c = (
        unit("NPU001"),
        unit("NPU002", explained_by=("NPU001",)),
        unit("NPU003", explained_by=("NPU001", "NPU002")),
    )
    assert shape(fold([hit(c), hit(b), hit(a)])) == [("NPU001", [("NPU002", []), ("NPU003", [])])]
    assert shape(fold([hit(c), hit(b)])) == [("NPU002", [("NPU003", [])])]


def test_a_note_explains_nothing() -> None:
    note, error = unit("NPU001", Severity.NOTE), unit("NPU002", explained_by=("NPU001",))
    assert shape(fold([hit(note), hit(error)])) == [("NPU002", []), ("NPU001", [])]


def test_a_warning_that_explains_an_error_comes_before_other_warnings() -> None:
    other, cause = unit("NPU001", Severity.WARNING), unit("NPU002", Severity.WARNING)
    error = unit("NPU003", explained_by=("NPU002",))
    assert shape(fold([hit(other), hit(cause), hit(error)])) == [("NPU002", [("NPU003", [])]), ("NPU001", [])]


def test_a_crash_is_one_entry_and_the_others_run() -> None:
    def crash(machine: Machine, tables: object) -> Iterator[Finding]:
        raise RuntimeError("broken check")
        yield

    def skip(machine: Machine, tables: object) -> Iterator[Finding]:
        raise Skip(verbatim("cannot say"))
        yield

    units = {
        "NPU001": Check("NPU001", "a", T, (), crash),
        "NPU002": Check("NPU002", "b", T, (), skip),
        "NPU003": unit("NPU003"),
    }
    found = diagnose(Machine(), load(), units)
    assert [f.code for f in found.findings] == ["NPU003"]
    assert [u.code for u in found.not_checked] == ["NPU001", "NPU002"]
    assert found.not_checked[0].params["message"] == "broken check"


def test_what_does_not_apply_neither_passes_nor_is_left_open() -> None:
    def never(machine: Machine, tables: object) -> Iterator[Finding]:
        yield from ()

    units = {
        "NPU001": Check("NPU001", "a", T, (), never),
        "NPU002": Check("NPU002", "b", T, (), never, applies=lambda machine: False),
    }
    found = diagnose(Machine(), load(), units)
    assert [unit.code for unit in found.passed] == ["NPU001"]
    assert (found.findings, found.not_checked) == ((), ())


def test_circles_and_unknown_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from npudoctor.check import engine

    a, b = unit("NPU001", explained_by=("NPU002",)), unit("NPU002", explained_by=("NPU001",))
    for units, words in (({"NPU001": a, "NPU002": b}, "circle"), ({"NPU001": a}, "do not exist")):
        monkeypatch.setattr(engine, "collect", lambda *_, units=units: units)
        all_checks.cache_clear()
        with pytest.raises(RegistryError, match=words):
            all_checks()
    monkeypatch.undo()
    all_checks.cache_clear()
    assert len(all_checks()) > 50
