"""When colour is used: the option over NO_COLOR over FORCE_COLOR over the terminal."""

from __future__ import annotations

import io

import pytest

from npudoctor.core.text import Text
from npudoctor.session import Session, wants_color


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(choice: str, environ: dict[str, str], terminal: bool, wanted: bool) -> None:
    assert wants_color(choice, Stream(terminal), environ) is wanted


def test_notes_go_to_standard_error_and_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    text = Text("wrote {path}", "已写入 {path}")
    Session(lang="zh").note(text, {"path": "a"})
    Session(quiet=True).note(text, {"path": "b"})
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "已写入 a\n")
