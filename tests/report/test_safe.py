"""Quoted text cannot steer the terminal, and rich markup in it is only text."""

from __future__ import annotations

import io

from rich.text import Text as Line

from npudoctor.session import Session


def shown(text: str, color: str = "never") -> str:
    stream = io.StringIO()
    Session(color=color).console(stream, width=80).print(Line(text, style="bold"))
    return stream.getvalue()


def test_escape_sequences_are_shown_and_not_obeyed() -> None:
    assert shown("a\x1b[31mb\x1b]0;t\x07 \u202egnp") == "a\\x1b[31mb\\x1b]0;t \\u202egnp\n"


def test_own_colours_still_work() -> None:
    assert shown("a\x1b[31mb", "always") == "\x1b[1ma\\x1b[31mb\x1b[0m\n"


def test_markup_is_text() -> None:
    assert shown("[red]x[/red] :smile:") == "[red]x[/red] :smile:\n"
