"""Chinese text fills its lines; nothing is lost, and no line begins with a comma."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("rich")

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding

from npudoctor.report.line import Line, breaks
from npudoctor.session import Session
from tests.conftest import ROOT, RunCli

SENTENCE = (
    "修复: 将采样数据保存在主机内存，打包后一次性搬运；"
    "或对源张量锁页并传入 non_blocking=True（更快）。"
)


def parts(text: str, width: int) -> list[str]:
    cuts = [0, *breaks(text, width), len(text)]
    return [text[a:b] for a, b in zip(cuts, cuts[1:])]


def test_lines_are_filled_and_the_label_keeps_its_text() -> None:
    lines = parts(SENTENCE, 40)
    assert lines[0].startswith("修复: 将采样")
    assert all(cell_len(line.rstrip()) <= 40 for line in lines)
    assert all(cell_len(line) >= 28 for line in lines[:-1])
    assert "non_blocking=True" in "\n".join(lines), "a word is not cut where it need not be"
    assert not [line for line in lines if line[0] in "，。；：、）"]


@given(st.text(alphabet="一二，。（） ab-x1", max_size=80), st.integers(4, 30))
def test_nothing_is_lost_and_everything_fits(text: str, width: int) -> None:
    lines = parts(text, width)
    assert "".join(lines) == text
    assert all(cell_len(line.rstrip(" ")) <= width for line in lines)


def test_in_a_padded_block_and_in_english() -> None:
    out = io.StringIO()
    console = Console(file=out, width=44, color_system=None)
    console.print(Padding(Line(SENTENCE), (0, 0, 0, 4)))
    console.print(Line("an English sentence that has to be broken at one of its spaces"))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("    修复: 将采样")
    assert lines[-2:] == ["an English sentence that has to be broken at", "one of its spaces"]


def test_printed_alone_a_line_is_filled_too_and_soft_wrap_leaves_it_whole() -> None:
    def shown(text: str, **options: bool) -> str:
        out = io.StringIO()
        Session(lang="zh").console(out, width=44).print(Line(text), **options)
        return out.getvalue()

    lines = shown(SENTENCE).splitlines()
    assert lines[0].startswith("修复: 将采样")
    assert all(28 <= cell_len(line) <= 44 for line in lines[:-1])
    assert shown(SENTENCE, soft_wrap=True) == f"{SENTENCE}\n"
    assert shown("") == "\n"


def test_values_stand_under_each_other_in_both_languages(run_cli: RunCli) -> None:
    """Padding counts cells: a Chinese character takes two."""
    machine = ROOT / "fixtures" / "machines" / "910b-host-ok.json"
    for lang in ("en", "zh"):
        lines = run_cli("check", "--replay", machine, "--lang", lang).stdout.splitlines()[:8]
        starts = {cell_len(line) - cell_len(line.split(maxsplit=1)[1]) for line in lines}
        assert starts == {13}, lines


def test_a_line_that_fits_exactly_is_not_broken() -> None:
    assert parts("一二三四", 8) == ["一二三四"]
    assert parts("一二三四五", 8) == ["一二三四", "五"]
    assert parts("一二三四", 7) == ["一二三", "四"]
    assert parts("一abc def", 9) == ["一abc def"]
