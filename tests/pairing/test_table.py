"""Lookups: known answers, the date of what is unknown, weak rows, overlays."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.pairing.table import DriverRelation, Known, Relation, Tables, Unknown, load


def test_every_release_is_there_once_and_sorted() -> None:
    versions = [row.version for row in load().pairs]
    assert len(versions) == len(set(versions)) == 129
    assert versions == sorted(versions, reverse=True)
    assert str(versions[-1]) == "1.5.0.post2"


def test_torch_is_the_release_in_the_package_version() -> None:
    for row in load().pairs:
        assert row.version.base_version == row.torch


def test_row_lookup_ignores_the_local_part() -> None:
    answer = load().row_for_torch_npu("2.9.0.post1+git4c901a4")
    assert isinstance(answer, Known)
    assert answer.value.torch == "2.9.0"
    assert answer.value.cann_tested == ("8.5.1",)


def test_unknown_says_which_table_does_not_know() -> None:
    answer = load().row_for_torch_npu("2.99.0")
    assert isinstance(answer, Unknown)
    assert answer.date == load().date
    assert "2.99.0" in answer.subject
    assert isinstance(load().driver_minimum("99.0.0"), Unknown)


@pytest.mark.parametrize(
    ("torch_npu", "cann", "relation"),
    [
        ("2.7.1", "8.3.RC1", Relation.PAIRED),
        ("2.7.1", "8.3.RC1.alpha003", Relation.SERIES),
        ("2.7.1", "8.3.RC2", Relation.TESTED),
        ("2.7.1", "8.2.RC2", Relation.COMPATIBLE),
        ("2.7.1", "9.1.0", Relation.OUTSIDE),
        ("2.1.0.post10", "8.0.0.beta1", Relation.PAIRED),
        ("2.5.1", "8.0.RC2", Relation.COMPATIBLE),
        ("2.3.1", "8.0.RC3", Relation.OUTSIDE),
        ("2.9.0.post8", "9.1.1", Relation.PAIRED),
        ("2.12.0.post3", "9.1.0", Relation.UNKNOWN),
    ],
)
def test_relation(torch_npu: str, cann: str, relation: Relation) -> None:
    answer = load().row_for_torch_npu(torch_npu)
    assert isinstance(answer, Known)
    assert load().relation(answer.value, cann) is relation


@pytest.mark.parametrize(
    ("cann", "driver", "relation"),
    [
        ("9.2.0", "25.2.0", DriverRelation.INCOMPATIBLE),
        ("9.2.0", "24.1.rc3", DriverRelation.TOO_OLD),
        ("9.1.0", "26.0.rc1", DriverRelation.PAIRED),
        ("9.0.0", "25.0.rc1.1", DriverRelation.COMPATIBLE),
        ("8.5.1", "25.5.1", DriverRelation.PAIRED),
        ("8.2.RC1", "23.0.3", DriverRelation.TOO_OLD),
        ("8.2.RC1", "24.1.rc2.2", DriverRelation.COMPATIBLE),
        ("8.3.RC1", "25.2.0", DriverRelation.OLDER_THAN_PAIRED),
        ("8.1.RC1", "25.5.1", DriverRelation.NEWER),
        ("8.5.0", "25.7.rc1", DriverRelation.UNKNOWN),
        ("8.0.0", "1.0.18", DriverRelation.UNKNOWN),
        ("99.1.0", "25.5.1", DriverRelation.UNKNOWN),
    ],
)
def test_driver_relation(cann: str, driver: str, relation: DriverRelation) -> None:
    assert load().driver_relation(cann, driver) is relation


def test_driver_minimum_says_whether_it_is_strict() -> None:
    official = load().driver_minimum("9.1.0")
    assert isinstance(official, Known)
    assert (official.value.version, official.value.strict) == ("25.2.X", True)
    paired = load().driver_minimum("8.3.RC2")
    assert isinstance(paired, Known)
    assert (paired.value.version, paired.value.strict) == ("25.3.RC1", False)


def test_weak_rows_stay_weak() -> None:
    old = load().driver_row("7.0.0")
    assert isinstance(old, Known)
    assert old.source.confidence == "low"
    assert load().pairs[0].provenance.confidence == "low"  # the newest release: only a readme names its CANN


def test_images_by_chip_and_python() -> None:
    found = load().images_for("8.3.RC1", "910b", "3.11")
    assert {row.os for row in found} == {"ubuntu22.04", "openeuler24.03"}
    assert load().images_for("8.3.RC1", "950") == []


def test_overlay_adds_and_replaces_rows(tmp_path: Path) -> None:
    site = tmp_path / "site.tsv"
    site.write_text(
        "# date: 2026-10-01\ntorch_npu\ttorch\tcann\tpython\n"
        "2.7.1\t2.7.1\t8.5.0\t3.11\n2.7.1.post99\t2.7.1\t9.1.0\t3.11\n"
    )
    merged = Tables(site)
    assert len(merged.pairs) == 130
    changed = merged.row_for_torch_npu("2.7.1")
    assert isinstance(changed, Known)
    assert changed.value.cann == ("8.5.0",)
    assert changed.source.kind == "site"
    assert "site" in "".join(merged.dates)


def test_bad_overlay_is_one_sentence(tmp_path: Path) -> None:
    site = tmp_path / "site.tsv"
    site.write_text("# date: 2026-10-01\ntorch_npu\tcuda\n2.7.1\t12\n")
    with pytest.raises(UserError, match="columns unknown"):
        Tables(site)
    site.write_text("# date: 2026-10-01\ntorch_npu\ttorch\nnewest\t2.7.1\n")
    with pytest.raises(UserError, match="newest"):
        Tables(site)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# date: 2026-10-01\ntorch_npu\ttorch\tpython\n2.7.1\t2.7.1\tthree\n", "not a Python version"),
        ("# date: 2026-10-01\ntorch_npu\ttorch\tconfidence\n2.7.1\t2.7.1\tsure\n", "not one of high"),
        ("# date: 2026-10-01\ntorch_npu\ttorch\ton_index\n2.7.1\t2.7.1\tmaybe\n", "not one of yes"),
        ("# date: 2026-10-01\ntorch_npu\ttorch\ttorch\n2.7.1\t2.7.1\t2.6.0\n", "twice"),
        ("# date: 2026-99-01\ntorch_npu\ttorch\n2.7.1\t2.7.1\n", "no '# date"),
        ("\x00\xff", "UTF-8"),
    ],
)
def test_mistakes_in_an_overlay_are_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    site = tmp_path / "site.tsv"
    site.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError) as caught:
        Tables(site)
    assert words in caught.value.sentence.render("en", caught.value.params)


def test_an_overlay_from_windows_is_read(tmp_path: Path) -> None:
    site = tmp_path / "site.tsv"
    text = "\ufeff# date: 2026-10-01\r\ntorch_npu\ttorch\tcann\r\n2.7.1.post99\t2.7.1\t8.3.RC1\r\n"
    site.write_bytes(text.encode())
    answer = Tables(site).row_for_torch_npu("2.7.1.post99")
    assert isinstance(answer, Known)
    assert answer.value.cann == ("8.3.RC1",)
