"""Every migration rule against its page: examples, idempotence, comments, wording."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections import Counter
from pathlib import Path

import pytest

from npudoctor.migrate import pages, style
from npudoctor.migrate.engine import FileResult, all_rules, comments, migrate_source
from npudoctor.migrate.project import ProjectIndex, collect_facts
from tests.conftest import FIXTURES

RULES = {rule.code: rule for rule in all_rules()}
PAGES = sorted((FIXTURES / "rules").glob("NPU*.md"))
ADDED = comments(style.picker("torch", "\n"))  # the picker's own, the one of the import among them


@functools.cache
def page_of(path: Path) -> pages.Page:
    return pages.parse(path.read_text(encoding="utf-8"))


def name_of(code: str, slug: str) -> str:
    return f"{code}_{slug.replace('-', '_')}"


EXAMPLES = [
    pytest.param(path, index, id=f"{path.stem}:{example.line}")
    for path in PAGES
    for index, example in enumerate(page_of(path).examples)
]


def ignored_for(path: Path) -> tuple[str, ...]:
    """Placement rules are shown without the sync rules; sync rules are shown with everything."""
    return ("NPU2",) if path.stem.startswith("NPU1") else ()


def run(path: Path, example: pages.Example, source: str) -> FileResult:
    modules = {other: collect_facts(text, other) for other, text in example.others.items()}
    modules[example.path] = collect_facts(source, example.path)
    settings = example.settings(ignored_for(path))
    return migrate_source(source, example.path, settings, ProjectIndex(modules))


@pytest.mark.parametrize("code", sorted(RULES))
def test_rule_has_a_page_with_enough_counter_examples(code: str) -> None:
    rule = RULES[code]
    path = FIXTURES / "rules" / f"{name_of(code, rule.slug)}.md"
    assert path.exists(), f"{code} has no page {path.name}"
    page = page_of(path)
    assert page.title == f"{code} {rule.slug}"
    assert len(page.prose.split()) > 30, "a page says what, why and when not"
    keeps = sum(e.is_keep for e in page.examples)
    assert keeps >= max(1, len(page.examples) - keeps), "at least as many keep as before"


@pytest.mark.parametrize("code", sorted(RULES))
def test_rule_is_small_and_its_triggers_are_cheap(code: str) -> None:
    rule = RULES[code]
    module = inspect.getmodule(rule.run)
    assert module is not None
    assert len(inspect.getsource(module).splitlines()) <= 250
    assert rule.triggers
    assert rule.nodes


def test_every_page_belongs_to_a_rule() -> None:
    assert {p.stem for p in PAGES} == {name_of(r.code, r.slug) for r in RULES.values()}


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_example(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    needed = str(example.options.get("python", "3.9"))
    if sys.version_info < tuple(map(int, needed.split("."))):
        pytest.skip(f"syntax of Python {needed}")
    result = run(path, example, example.source)
    assert not result.failed, result.findings
    assert result.text == example.expected
    ast.parse(result.text)
    assert [c for c in comments(result.text) if c not in ADDED] == [
        c for c in comments(example.source) if c not in ADDED
    ]
    code = path.stem.split("_")[0]
    if example.findings is not None:
        left = [f"{f.place.line} {f.code}" for f in result.left if f.place and f.code == code]
        assert left == list(example.findings)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_page_shows_its_rule_at_work(path: Path) -> None:
    code = path.stem.split("_")[0]
    shown = [e for e in page_of(path).examples if code in {f.code for f in run(path, e, e.source).findings}]
    assert shown, f"no example reports {code}"
    assert any(code not in {f.code for f in run(path, e, e.source).findings} for e in page_of(path).examples)


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_second_run_changes_nothing(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    again = run(path, example, example.expected)
    assert again.text == example.expected


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_second_run_reports_what_the_first_left(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    first, second = run(path, example, example.source), run(path, example, example.expected)
    assert Counter((f.code, f.slug) for f in second.left) == Counter((f.code, f.slug) for f in first.left)
    assert not any(outcome.applied for outcome in second.outcomes)


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_messages_render_in_both_languages(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    for finding in run(path, example, example.source).findings:
        for lang in ("en", "zh"):
            texts = [finding.title, finding.cause, *(f.note for f in finding.fixes)]
            assert all(t.render(lang, finding.params) for t in texts)


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_every_finding_says_why_what_to_do_and_who_says_so(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    for finding in run(path, example, example.source).findings:
        assert finding.cause.render("en", finding.params).strip()
        assert any(fix.note.render("en", finding.params).strip() for fix in finding.fixes)
        assert finding.sources, f"{finding.code}: {finding.title.en}"
        assert all(source.startswith("https://") for source in finding.sources)
