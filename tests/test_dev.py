"""The findings reference: every code that the source names has a page, in both languages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from npudoctor import dev
from tests.conftest import ROOT

CODE = re.compile(r"NPU\d{3}")
PAGES = {page.code: page for page in dev.pages()}


def named_codes() -> dict[str, str]:
    """Every code that stands alone in a string of the package, and where."""
    found = {}
    for path in sorted((ROOT / "npudoctor").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                found.setdefault(node.value, f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def findings_made() -> list[tuple[str, str, str]]:
    """(code, slug, place) of each finding whose code and slug are written where it is made."""
    found = []
    for path in sorted((ROOT / "npudoctor").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) > 1:
                words = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
                if len(words) == 2 and CODE.fullmatch(str(words[0])):
                    found.append((words[0], words[1], f"{path.relative_to(ROOT)}:{node.lineno}"))
    return found


def test_every_code_of_the_source_has_a_page() -> None:
    named = named_codes()
    assert len(named) > 150
    assert {code: place for code, place in named.items() if code not in PAGES} == {}


def test_no_code_has_two_pages() -> None:
    codes = [page.code for page in dev.pages()]
    assert len(codes) == len(set(codes))


def test_a_page_bears_the_slug_that_its_finding_bears() -> None:
    made = [m for m in findings_made() if not m[0].startswith("NPU3")]  # a stage has many faults
    assert len(made) >= 10
    assert [(code, slug, place) for code, slug, place in made if PAGES[code].slug != slug] == []


@pytest.mark.parametrize("code", PAGES)
def test_page_in_both_languages(code: str) -> None:
    page = PAGES[code]
    assert page.texts
    text = page.render()
    assert text.startswith(f"# {code} {page.slug}\n")
    rows = [line for line in text.split("## Messages")[1].splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(page.texts)
    assert all(re.search("[\u3000-\u9fff\uff00-\uffef]", row.rsplit(" | ", 1)[-1]) for row in rows)
    assert all(row.count("|") - row.count("\\|") == 3 for row in rows), "a cell that breaks the table"


def test_written_pages_are_linked_and_old_ones_go(tmp_path: Path) -> None:
    (tmp_path / "NPU000.md").write_text("of a code that is no more")
    assert dev.write_docs(tmp_path) == len(PAGES)
    linked = re.findall(r"\]\((NPU\d+\.md)\)", (tmp_path / "index.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(p.name for p in tmp_path.glob("NPU*.md"))
    assert "NPU000.md" not in linked


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["docs"]) == 2
    assert "usage" in capsys.readouterr().err
    assert dev.main(["messages"]) == 0
    assert '"zh"' in capsys.readouterr().out


def test_picture_is_one_file_that_fetches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    dev.picture(tmp_path / "p.svg", ["--version", "+", "explain", "NPU012"])
    svg = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert svg.count("npudoctor&#160;") >= 2
    assert "NPU012" in svg
    assert "@font-face" not in svg
    assert not re.search(r"(?:href|src)=\"http|url\(http", svg)
