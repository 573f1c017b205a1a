"""The summary lines: each value stands apart from its label, all in one column."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from npudoctor.core.report import Fact, Report
from npudoctor.core.text import Text
from npudoctor.report.terminal import render
from npudoctor.session import Session


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("longest", "column"),
    [(Text("window", "窗口"), 13), (Text("its own communication", "自带的通信统计数据之和"), None)],
    ids=["short", "long"],
)
def test_every_label_stands_apart_from_its_value(lang: str, longest: Text, column: int | None) -> None:
    facts = (Fact("a", Text("syncs", "同步"), "=1"), Fact("b", longest, "=2"))
    stream, session = io.StringIO(), Session(lang=lang)
    render(Report("profile", Text("done", "完成"), facts=facts), session.console(stream, width=80), session)
    columns = {cell_len(line.partition("=")[0]) for line in stream.getvalue().splitlines() if "=" in line}
    assert columns == {column or cell_len(longest.render(lang)) + 1}
