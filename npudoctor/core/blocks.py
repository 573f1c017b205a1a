"""Tables, bars and answers that a command adds to its report; renderers draw them in their own form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union

from npudoctor.core.text import Text


@dataclass(frozen=True)
class Phrase:
    """A text with its parameters; a parameter may itself be a text or a phrase."""

    text: Text
    params: Mapping[str, object] = field(default_factory=dict)

    def render(self, lang: str) -> str:
        """The phrase in `lang`."""
        words = {k: v.render(lang) if isinstance(v, (Text, Phrase)) else v for k, v in self.params.items()}
        return self.text.render(lang, words)


Cell = Union[str, Text, Phrase]


@dataclass(frozen=True)
class Table:
    """Rows under named columns.

    Attributes:
        right: indices of the columns that hold numbers and align right.
        marks: per row `pass`, `fail`, `skip` or an empty string; renderers colour by it.
        note: a line under the table: where its figures come from.
    """

    title: Text
    columns: tuple[Text, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: tuple[int, ...] = ()
    marks: tuple[str, ...] = ()
    note: Phrase | None = None


@dataclass(frozen=True)
class Bar:
    """One horizontal bar made of parts: `parts` are (name, value) in drawing order."""

    label: Cell
    parts: tuple[tuple[Cell, float], ...]


@dataclass(frozen=True)
class Bars:
    """Bars on one common scale; `unit` names the values."""

    title: Text
    unit: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Answer:
    """A titled piece of an answer: labelled lines, then commands to copy.

    Its texts are finished (`core.text.filled` or `verbatim`); the JSON form carries the
    same data in `Report.extra`.
    """

    title: Text
    lines: tuple[tuple[Text, Text], ...] = ()
    commands: tuple[str, ...] = ()


Block = Union[Table, Bars, Answer]


def cell_text(cell: Cell, lang: str) -> str:
    """A cell as words in `lang`."""
    return cell if isinstance(cell, str) else cell.render(lang)
