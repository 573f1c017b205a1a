"""Every data table: a source and a date per row, nothing in the future, cells that fit."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from npudoctor import tables

NAMES = sorted(p.stem for p in tables.DATA.glob("*.tsv"))


@pytest.mark.parametrize("name", NAMES)
def test_rows_carry_their_provenance(name: str) -> None:
    table = tables.load(name)
    today = datetime.date.today().isoformat()
    assert table.columns[-4:] == tables.PROVENANCE
    assert table.rows, "an empty table says nothing"
    assert table.date <= today
    for row in table.rows:
        assert re.match(r"https?://\S+$", row["source_url"]), row
        assert row["source_kind"] in tables.SOURCE_KINDS, row
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["seen_on"]), row
        assert row["seen_on"] <= today, row
        assert row["confidence"] in tables.CONFIDENCES, row


def test_reader_refuses_a_row_that_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("# date: 2026-01-01\na\tb\n1\n")
    with pytest.raises(Exception, match="line 3: 1 cells for 2 columns"):
        tables.read(path)
