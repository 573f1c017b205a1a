"""Tables, bars and answers on a terminal: figures are there, bars have their lengths, marks their colours."""

from __future__ import annotations

import io
import re

import pytest

from npudoctor.core.blocks import Answer, Bar, Bars, Block, Phrase, Table
from npudoctor.core.text import Text, verbatim
from npudoctor.report.blocks import draw
from npudoctor.session import Session

STAGE, MS = Text("stage", "阶段"), Text("milliseconds", "毫秒")
TABLE = Table(
    Text("stages", "各阶段"),
    (STAGE, MS),
    (("environment", "1.25"), (Text("learning", "学习"), "100.5"), ("skipped", "-")),
    right=(1,),
    marks=("pass", "fail", "skip"),
    note=Phrase(Text("{n} runs", "{n} 次运行"), {"n": 3}),
)
BARS = Bars(
    Text("time per step", "每步时间"),
    "ms",
    (
        Bar("one", ((Text("inference", "推理"), 6.0), (Text("update", "更新"), 2.0))),
        Bar(Text("batched", "批量"), ((Text("inference", "推理"), 1.0), (Text("update", "更新"), 3.0))),
    ),
)


def drawn(block: Block, lang: str = "en", color: str = "never", encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    session = Session(lang=lang, color=color)
    draw((block,), session.console(stream, width=80), lang)
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_table() -> None:
    lines = drawn(TABLE).splitlines()
    assert lines[0].strip() == "stages"
    assert lines[1].split() == ["stage", "milliseconds"]
    assert [line.split() for line in lines[2:5]] == [
        ["environment", "1.25"], ["learning", "100.5"], ["skipped", "-"],
    ]  # fmt: skip
    assert {len(line.rstrip()) for line in lines[1:5]} == {len(lines[1].rstrip())}, "numbers end together"
    assert lines[5].strip() == "3 runs"


def test_table_in_chinese_and_in_colour() -> None:
    text = drawn(TABLE, "zh")
    for word in ("各阶段", "阶段", "毫秒", "学习", "3 次运行"):
        assert word in text
    coloured = drawn(TABLE, color="always")
    assert re.search("\x1b\\[[0-9;]*32m" + "environment", coloured), "passed: green"
    assert re.search("\x1b\\[[0-9;]*31m" + "learning", coloured), "failed: red"
    assert re.search("\x1b\\[[0-9;]*33m" + "skipped", coloured), "skipped: yellow"


@pytest.mark.parametrize(("encoding", "first", "second"), [("utf-8", "█", "▓"), ("ascii", "#", "=")])
def test_bars(encoding: str, first: str, second: str) -> None:
    title, one, batched, legend, *_ = drawn(BARS, encoding=encoding).splitlines()
    assert title.strip() == "time per step (ms)"
    # The longest bar fills fifty cells; the others are in proportion, and each part to its share.
    assert (one.count(first), one.count(second)) == (38, 12)
    assert (batched.count(first), batched.count(second)) == (6, 19)
    assert one.split()[-1] == "8"
    assert one.index(first) == batched.index(first)
    assert legend.split() == [first, "inference", second, "update"]


def test_bars_of_nothing() -> None:
    empty = Bars(BARS.title, "ms", (Bar("one", ((verbatim("x"), 0.0),)),))
    assert "one" in drawn(empty)
    assert drawn(Bars(BARS.title, "ms", ())).strip().startswith("time per step")


def test_commands_of_an_answer_are_not_wrapped() -> None:
    command = "python -m pip install " + " ".join(f"package{i}==1.0" for i in range(20))
    text = drawn(Answer(verbatim("install"), ((STAGE, verbatim("x [red]y[/red]")),), (command,)))
    assert f"    $ {command}\n" in text
    assert "stage: x [red]y[/red]" in text
