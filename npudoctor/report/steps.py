"""`npudoctor` alone: the steps of the journey, how each went last, and the next command."""

from __future__ import annotations

from shutil import get_terminal_size

import click

from npudoctor import state
from npudoctor.core.text import Text, escaped
from npudoctor.journey import STEPS, Step, ended_well, next_step
from npudoctor.state import Last

_NOT_YET = Text("not run yet", "尚未运行")
_NEXT = Text("next: {call}", "下一步：{call}")
_MORE = Text("all commands: npudoctor --help", "全部命令：npudoctor --help")
_INDENT = 14


def show(lang: str) -> None:
    """Print the journey; light enough for a command that only says where one is."""
    known = state.recall()
    for step in STEPS:
        _show_step(step, known.get(step.command), lang)
    click.echo()
    click.echo(_NEXT.render(lang, {"call": next_step(known).call}))
    click.echo(_MORE.render(lang))


def _show_step(step: Step, last: Last | None, lang: str) -> None:
    mark = " " if last is None else "+" if ended_well(last) else "!"
    click.echo(f"{mark} {step.command:<11} {step.question.render(lang)}")
    if last is None:
        verdict = _NOT_YET.render(lang)
    else:
        said = last.report.get(lang, {}).get("verdict", "?")
        verdict = escaped(f"{said} ({last.when[:16].replace('T', ' ')})")
    for part in _broken(verdict, get_terminal_size((0, 0)).columns - _INDENT):
        click.echo(" " * _INDENT + part)


def _broken(text: str, width: int) -> list[str]:
    """Cut to `width` cells; whole where the width is not known or the text is short."""
    if width <= _INDENT or len(text) <= width // 2:  # a Chinese character takes two cells
        return [text]
    from npudoctor.report.line import breaks

    cuts = [0, *breaks(text, width), len(text)]
    return [text[a:b].rstrip() for a, b in zip(cuts, cuts[1:])]
