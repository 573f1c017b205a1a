"""Contracts that every check keeps: silent when healthy, not checked when blind, cleared by its own fix."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from npudoctor.check import checks
from npudoctor.check.engine import all_checks, diagnose
from npudoctor.core.finding import Finding
from npudoctor.core.registry import unit_modules
from npudoctor.machine.collect import collect
from npudoctor.machine.facts import Unknown, at
from npudoctor.machine.host import NOT_RECORDED, TIMEOUT, Observation
from npudoctor.machine.probe import Settings
from npudoctor.machine.replay import ReplayHost
from npudoctor.pairing.table import load
from tests.support import overlays

CODES = sorted(all_checks())
HEALTHY = sorted(p.stem for p in overlays.MACHINES.glob("*-ok.json"))
FIELD = re.compile(r"\{(\w+)\}")


def found_by(code: str, machine: object) -> list[Finding]:
    """The findings of one check alone, consequences of nothing."""
    return list(diagnose(machine, load(), {code: all_checks()[code]}).findings)  # type: ignore[arg-type]


def words_of(finding: Finding) -> str:
    notes = [fix.note.render("en", finding.params) for fix in finding.fixes]
    return "\n".join([*notes, *(c for fix in finding.fixes for c in fix.commands)])


@pytest.mark.parametrize("code", CODES)
def test_fires_on_its_overlay_and_its_own_fix_clears_it(code: str) -> None:
    spec = overlays.overlay(code)
    hits = found_by(code, overlays.facts(overlays.broken(spec)))
    assert hits, "the check does not see its own fault"
    does = spec["fixed"]["does"]
    assert any(does in words_of(hit) for hit in hits), f"no fix says {does!r}: {words_of(hits[0])}"
    after = diagnose(overlays.facts(overlays.fixed(spec)), load())
    assert code not in {f.code for root in after.findings for f in root.walk()}, (
        "the stated fix does not clear it"
    )


@pytest.mark.parametrize("code", CODES)
def test_the_fault_is_a_root_or_folds_under_one(code: str) -> None:
    diagnosis = diagnose(overlays.facts(overlays.broken(overlays.overlay(code))), load())
    everything = [f.code for root in diagnosis.findings for f in root.walk()]
    assert code in everything
    assert len(diagnosis.findings) <= 3, "one fault must not look like many: " + ", ".join(
        f.code for f in diagnosis.findings
    )


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_machines_are_all_green(name: str) -> None:
    diagnosis = diagnose(overlays.machine(name), load())
    expected = {"NPU022"} if name == "910b-container-few-mounts-ok" else set()
    assert {f.code for f in diagnosis.findings} == expected
    assert not diagnosis.not_checked, [(u.code, u.reason) for u in diagnosis.not_checked]


class NothingHost(ReplayHost):
    """A computer that refuses every question in one way: the `not checked` contract runs on it."""

    def __init__(self, error: str = NOT_RECORDED) -> None:
        super().__init__({})
        self._error = error

    def _answer(self, kind: str, target: str) -> Observation:
        data = {"exit": None, "stdout": "", "stderr": "", "seconds": 0.0} if self._error == TIMEOUT else None
        return Observation(kind, target, data, self._error)


@pytest.mark.parametrize("error", [NOT_RECORDED, TIMEOUT, "EACCES", "EIO"])
def test_blind_checks_do_not_pass(error: str) -> None:
    machine = collect(NothingHost(error), Settings(python="/nowhere/python"))
    diagnosis = diagnose(machine, load())
    passed = {unit.code for unit in diagnosis.passed}
    # A check may only pass without facts when it needs none.
    assert all(not all_checks()[code].needs for code in passed), passed
    crashed = [u for u in diagnosis.not_checked if u.reason is not None and "crashed" in u.reason.en]
    assert not crashed, [(u.code, dict(u.params)) for u in crashed]
    needy = {code for code, check in all_checks().items() if check.needs}
    assert needy <= {unit.code for unit in diagnosis.not_checked}


@pytest.mark.parametrize("code", CODES)
def test_each_needed_fact_alone_makes_it_not_checked(code: str) -> None:
    check = all_checks()[code]
    broken = overlays.facts(overlays.broken(overlays.overlay(code)))
    for path in check.needs:
        blind = _without(broken, path)
        diagnosis = diagnose(blind, load(), {code: check})
        assert [u.code for u in diagnosis.not_checked] == [code], f"judged without {path}"


def _without(machine: object, path: str) -> object:
    head, _, rest = path.partition(".")
    inner = _without(getattr(machine, head), rest) if rest else Unknown(path, "made unknown")
    return dataclasses.replace(machine, **{head: inner})  # type: ignore[type-var]


@pytest.mark.parametrize("code", CODES)
def test_declaration(code: str) -> None:
    check = all_checks()[code]
    assert re.fullmatch(r"NPU0\d\d", code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.slug)
    assert all(re.match(r"https?://\S+$", url) for url in check.sources)
    assert check.sources or not check.needs, "a check that judges facts names its source"
    assert code not in check.explained_by
    blank = overlays.machine("910b-host-ok")
    for path in check.needs:
        at(blank, path)  # the path exists


@pytest.mark.parametrize("code", CODES)
def test_findings_render_in_both_languages_with_a_fix(code: str) -> None:
    for hit in found_by(code, overlays.facts(overlays.broken(overlays.overlay(code)))):
        for lang in ("en", "zh"):
            for text in (hit.title, hit.cause, *(fix.note for fix in hit.fixes)):
                words = text.render(lang, hit.params)
                assert words.strip()
                assert not FIELD.search(words), words
        assert hit.fixes, "a finding without a way out"
        assert hit.evidence or hit.place, "a finding that saw nothing"


@pytest.mark.parametrize("code", CODES)
def test_a_fix_on_the_host_is_never_the_only_way(code: str) -> None:
    """Renters and container users can change neither driver nor firmware."""
    for hit in found_by(code, overlays.facts(overlays.broken(overlays.overlay(code)))):
        if hit.fixes[0].needs_root and hit.fixes[0].host_only:
            assert any(not fix.needs_root for fix in hit.fixes[1:]), hit.code


@pytest.mark.parametrize("module", unit_modules(checks, "npu"), ids=lambda m: m.__name__.rsplit(".", 1)[-1])
def test_checks_are_small_and_pure(module: object) -> None:
    source = inspect.getsource(module)  # type: ignore[arg-type]
    assert len(source.splitlines()) <= 260
    tree = ast.parse(source)
    imports = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imports <= {"__future__", "typing", "npudoctor.check.api"}
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert names <= {"re"}, "a check asks the facts, never the machine"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_every_check_has_one_overlay() -> None:
    stems = sorted(p.stem for p in overlays.OVERLAYS.glob("*.toml"))
    assert stems == [f"{c.code}_{c.slug.replace('-', '_')}" for c in all_checks().values()]


DOCS = (Path(__file__).resolve().parents[2] / "docs" / "check.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", CODES)
def test_line_in_the_docs(code: str) -> None:
    check = all_checks()[code]
    line = f"| {code} | {check.slug} | {check.title.en} | {', '.join(check.explained_by) or '-'} |"
    assert line in DOCS.splitlines()


def test_lines_of_the_docs_are_in_order() -> None:
    assert re.findall(r"^\| (NPU\d{3}) \|", DOCS, re.MULTILINE) == CODES
