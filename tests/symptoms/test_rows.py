"""Every symptom row: its examples are its tests; texts, sources and literals are sound."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from npudoctor.core.finding import Severity
from npudoctor.symptoms import rows
from npudoctor.symptoms.match import Scanner
from npudoctor.symptoms.probes import ECODE_KEY
from npudoctor.symptoms.rank import Match, ranked
from npudoctor.symptoms.rows import ECODE, Rank, RowError, Symptom, all_symptoms

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    try:
        from re import _parser as parser  # Python 3.11 and newer
    except ImportError:
        import sre_parse as parser

ROWS = all_symptoms()


def scan(text: str) -> tuple[Match, ...]:
    import io

    scanner = Scanner(ROWS)
    scanner.scan(io.BytesIO(text.encode()))
    return ranked(scanner)


@pytest.fixture(scope="module")
def first_match() -> dict[str, Match]:
    return {example: scan(example)[0] for row in ROWS for example in row.examples}


def test_enough_rows() -> None:
    assert len(ROWS) >= 150
    areas = {row.area for row in ROWS}
    wanted = {"imports", "python", "driver", "devices", "container", "operators", "memory", "hccl", "rl"}
    assert areas >= wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_examples_are_explained_by_their_row(row: Symptom, first_match: dict[str, Match]) -> None:
    assert row.examples
    for example in row.examples:
        match = first_match[example]
        assert match.symptom is row, f"{example!r} is explained by {match.symptom.id}"
        assert match.lines[0][0] == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_texts_fill_in(row: Symptom, first_match: dict[str, Match]) -> None:
    params = first_match[row.examples[0]].params
    for text in (row.title, row.cause, row.fix, *(t for c in row.candidates for t in vars(c).values())):
        if not isinstance(text, tuple):
            for lang in ("en", "zh"):
                assert text.render(lang, params).strip()
    assert any("\u4e00" <= c <= "\u9fff" for c in row.title.zh + row.cause.zh)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_row_is_well_formed(row: Symptom) -> None:
    assert re.fullmatch(r"NPU9\d{3}", row.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.id)
    assert row.sources
    assert all(re.match(r"https://\S+$", url) for url in row.sources)
    assert row.strength in {"high", "medium", "low"}
    if row.rank is Rank.CODE:
        assert row.candidates or "explain" in row.cause.en or row.fix, "an ambiguous code needs its tests"
    if row.rank is Rank.NOTE:
        assert row.severity is not Severity.ERROR
    assert "\u2014" not in row.title.en


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_need_is_in_each_example(row: Symptom) -> None:
    needs = [n for n in row.need if n != ECODE]
    assert all(not re.search(r"\d", n) for n in needs), "digits are replaced before literals are looked for"
    for example in row.examples:
        key = re.sub(r"\d", "0", example)
        found = any(n in key for n in needs) or (ECODE in row.need and ECODE_KEY.search(key.encode()))
        assert found, example


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_need_is_required_by_each_pattern(row: Symptom) -> None:
    """No pattern can match a line that holds none of the row's literals: nothing is skipped wrongly."""
    entries = [(p, row.need) for p in row.match]
    entries += [(e["match"], tuple(e["need"])) for e in (*row.also, *row.context)]
    for pattern, need in entries:
        for branch in branches(list(parser.parse(pattern))):
            assert covered(branch, need), f"{pattern}: a match need not contain any of {need}"


def branches(tree: list[Any]) -> list[list[Any]]:
    """The alternatives of a pattern, groups opened where they are alternatives as a whole."""
    for index, (op, argument) in enumerate(tree):
        options: list[list[Any]] = []
        if str(op) == "BRANCH":
            options = [list(b) for b in argument[1]]
        elif str(op) == "SUBPATTERN":
            inner = branches(list(argument[3]))
            options = inner if len(inner) > 1 else []
        if options:
            return [b for o in options for b in branches([*tree[:index], *o, *tree[index + 1:]])]
    return [tree]


def covered(tree: list[Any], need: tuple[str, ...]) -> bool:
    literals = runs(tree)
    if any(n in run for n in need if n != ECODE for run in literals):
        return True
    if ECODE in need:
        return any(re.search(r"E[A-Z]?\d?$|E[A-Z]?\d{1,5}", run) for run in literals)
    return False


def runs(tree: list[Any]) -> list[str]:
    found, run = [], ""
    for op, argument in tree:
        name = str(op)
        if name == "LITERAL":
            run += chr(argument)
        elif name == "SUBPATTERN":
            inner = runs(list(argument[3]))
            if len(inner) == 1 and all(str(o) == "LITERAL" for o, _ in argument[3]):
                run += inner[0]
            else:
                found += [run, *inner]
                run = ""
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and argument[0] >= 1:
            found += [run, *runs(list(argument[2]))]
            run = ""
        elif name == "AT" and str(argument) in ("AT_BOUNDARY", "AT_BEGINNING", "AT_END"):
            continue
        else:
            found.append(run)
            run = ""
    return [re.sub(r"\d", "0", r) for r in [*found, run] if r]


def test_the_entry_in_the_docs_is_a_valid_one(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "docs.toml").write_text(entry, encoding="utf-8")
    (row,) = rows.read(tmp_path / "docs.toml")
    shipped = next(r for r in ROWS if r.id == row.id)
    assert row.code == shipped.code
    assert re.search(row.match[0], row.examples[0])


def test_sound_rows_are_required(tmp_path: Any) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('[[symptom]]\nid = "x"\n')
    with pytest.raises(RowError, match="code"):
        rows.read(path)
