"""Every idiom of files that are not Python against its page: examples, idempotence, wording."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path

import pytest

from npudoctor.migrate import filetypes, pages
from npudoctor.migrate.engine import FileResult, all_rules
from npudoctor.migrate.idioms import all_idioms
from npudoctor.migrate.lang import languages
from npudoctor.migrate.problems import UNITS
from npudoctor.migrate.project import ProjectIndex
from tests.conftest import FIXTURES

IDIOMS = {idiom.code: idiom for idiom in all_idioms()}
PAGES = sorted((FIXTURES / "idioms").glob("NPU*.md"))


@functools.cache
def page_of(path: Path) -> pages.Page:
    return pages.parse(path.read_text(encoding="utf-8"))


EXAMPLES = [
    pytest.param(path, index, id=f"{path.stem}:{example.line}")
    for path in PAGES
    for index, example in enumerate(page_of(path).examples)
]


def run(example: pages.Example, source: str) -> FileResult:
    kind = filetypes.classify(example.path, lambda: b"")
    assert kind is not None
    language = languages()[kind]
    data = source.encode()
    if not language.wants(data):
        return FileResult(example.path, source)
    return language.migrate(language.decode(data).text, example.path, example.settings(), ProjectIndex())


def test_codes_are_used_once() -> None:
    codes = [*IDIOMS, *UNITS, *(rule.code for rule in all_rules())]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("code", sorted(IDIOMS))
def test_idiom_has_a_page_with_counter_examples(code: str) -> None:
    idiom = IDIOMS[code]
    path = FIXTURES / "idioms" / f"{code}_{idiom.slug.replace('-', '_')}.md"
    assert path.exists(), f"{code} has no page {path.name}"
    page = page_of(path)
    assert page.title == f"{code} {idiom.slug}"
    assert len(page.prose.split()) > 40
    assert sum(example.is_keep for example in page.examples) >= 2
    module = inspect.getmodule(idiom.run)
    assert module is not None
    assert len(inspect.getsource(module).splitlines()) <= 150


def test_every_page_belongs_to_an_idiom() -> None:
    assert {p.stem.split("_")[0] for p in PAGES} == set(IDIOMS)


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_example(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    code = path.stem.split("_")[0]
    result = run(example, example.source)
    assert result.text == example.expected
    assert not result.failed
    left = [f"{f.place.line} {f.code}" for f in result.left if f.place and f.code == code]
    assert left == list(example.findings or ()), [f.title.en for f in result.left]
    if not example.is_keep:
        assert code in result.edits
    for finding in result.findings:
        assert finding.cause.render("en", finding.params).strip()
        assert any(fix.note.render("en", finding.params).strip() for fix in finding.fixes)
        assert finding.sources, f"{finding.code}: {finding.title.en}"
        for lang in ("en", "zh"):
            assert finding.title.render(lang, finding.params)
            assert finding.cause.render(lang, finding.params)
            assert finding.fixes[0].note.render(lang, finding.params)


@pytest.mark.parametrize(("path", "index"), EXAMPLES)
def test_second_run_changes_nothing(path: Path, index: int) -> None:
    example = page_of(path).examples[index]
    assert run(example, example.expected).text == example.expected
