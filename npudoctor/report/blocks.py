"""Draw the tables, bars and answers of a report on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as Grid

from npudoctor.core.blocks import Answer, Bars, Block, Table, cell_text
from npudoctor.report.line import Line, can_encode, padded

if TYPE_CHECKING:
    from rich.console import Console

_STYLE = {"pass": "green", "fail": "bold red", "skip": "yellow", "": ""}
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "white")
_FILLS, _ASCII_FILLS = "█▓▒░▄─", "#=+-.:"
_WIDTH = 50


def draw(blocks: tuple[Block, ...], console: Console, lang: str) -> None:
    """Print every block with an empty line behind it."""
    for block in blocks:
        if isinstance(block, Table):
            _table(block, console, lang)
        elif isinstance(block, Answer):
            _answer(block, console, lang)
        else:
            _bars(block, console, lang)
        console.print()


def _table(table: Table, console: Console, lang: str) -> None:
    grid = Grid(
        title=table.title.render(lang),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for index, column in enumerate(table.columns):
        grid.add_column(
            column.render(lang), justify="right" if index in table.right else "left", overflow="fold"
        )
    for index, row in enumerate(table.rows):
        mark = table.marks[index] if index < len(table.marks) else ""
        cells = [Line(cell_text(cell, lang)) for cell in row]
        for cell in cells[:3]:
            cell.stylize(_STYLE[mark])
        grid.add_row(*cells)
    console.print(grid)
    if table.note is not None:
        console.print(Line(table.note.render(lang), style="dim"))


def _answer(answer: Answer, console: Console, lang: str) -> None:
    console.print(Line(answer.title.render(lang), style="bold"))
    for label, text in answer.lines:
        line = Line(f"{label.render(lang)}: ", style="dim")
        line.append(text.render(lang), style="not dim")
        console.print(Padding(line, (0, 0, 0, 4)))
    for command in answer.commands:
        # A command is printed unwrapped, so that it can be copied from the terminal.
        console.print(Line(f"    $ {command}", style="bold cyan"), soft_wrap=True)


def _bars(block: Bars, console: Console, lang: str) -> None:
    fills = _FILLS if can_encode(console, _FILLS) else _ASCII_FILLS
    console.print(Line(f"{block.title.render(lang)} ({block.unit})", style="bold"))
    longest = max((sum(value for _, value in bar.parts) for bar in block.bars), default=0.0)
    names = [cell_text(name, lang) for name, _ in block.bars[0].parts] if block.bars else []
    labels = [cell_text(bar.label, lang) for bar in block.bars]
    wide = max(map(cell_len, labels), default=0)
    for bar, label in zip(block.bars, labels):
        line = Line(padded(label, wide + 1))
        for index, width in enumerate(_widths([v for _, v in bar.parts], longest)):
            line.append(fills[index % len(fills)] * width, style=_COLOURS[index % len(_COLOURS)])
        line.append(f" {sum(v for _, v in bar.parts):.3g}")
        console.print(line, soft_wrap=True)
    legend = Line(" " * (wide + 1))
    for index, name in enumerate(names):
        legend.append(fills[index % len(fills)], style=_COLOURS[index % len(_COLOURS)])
        legend.append(f" {name}  ", style="dim")
    console.print(legend, soft_wrap=True)


def _widths(values: list[float], longest: float) -> list[int]:
    """Cells per part, so that rounding never makes the whole bar drift by more than one cell."""
    widths, done, drawn = [], 0.0, 0
    for value in values:
        done += value
        edge = round(_WIDTH * done / longest) if longest > 0 else 0
        widths.append(edge - drawn)
        drawn = edge
    return widths
