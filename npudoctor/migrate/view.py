"""What the idioms see of a file that is not Python: settings, commands, requirements, images.

A language module reads its own syntax into a `View`; an idiom looks at views and does not
know which language one came from. Every piece remembers where each character stands.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Word:
    """A piece of text as the program gets it (quotes and escapes resolved).

    Attributes:
        text: the value.
        at: offset in the file of each character of `text`.
        literal: nothing in it is expanded at run time.
        begin: offset in the file where the word begins, quotes included.
    """

    text: str
    at: tuple[int, ...]
    literal: bool = True
    begin: int = 0

    def span(self, start: int = 0, end: int | None = None) -> tuple[int, int]:
        """Half-open span in the file of `text[start:end]`; empty text stands at `begin`."""
        piece = self.at[start:end]
        return (piece[0], piece[-1] + 1) if piece else (self.begin, self.begin)

    def part(self, start: int, end: int | None = None) -> Word:
        """`text[start:end]` as a word of its own."""
        begin = self.at[start] if start < len(self.at) else self.begin
        return Word(self.text[start:end], self.at[start:end], self.literal, begin)


class LineStarts:
    """Line and column (both from 1) of an offset; built once per text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """Number of the line that holds `offset`."""
        return bisect.bisect_right(self._starts, offset)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`."""
        line = self.line(offset)
        return line, offset - self._starts[line - 1] + 1


def word_at(text: str, start: int, end: int, literal: bool = True) -> Word:
    """The plain word `text[start:end]`."""
    return Word(text[start:end], tuple(range(start, end)), literal, start)


@dataclass(frozen=True)
class Setting:
    """`key = value`, however the language writes it.

    Attributes:
        key: the name, as written.
        value: what it is set to.
        path: names of the enclosing tables or mappings, outermost first.
        env: it sets an environment variable.
    """

    key: Word
    value: Word
    path: tuple[str, ...] = ()
    env: bool = False


@dataclass(frozen=True)
class Command:
    """Words of one command line, in order."""

    words: tuple[Word, ...]


@dataclass(frozen=True)
class Requirement:
    """A package that is asked for: normalised name, version part as written, its place.

    Attributes:
        name: lower case, `-` for every run of `-_.`.
        spec: what follows the name and its extras, without marker (`==2.1.0+cu118`).
        word: the whole.
    """

    name: str
    spec: str
    word: Word


@dataclass
class View:
    """One file.

    Attributes:
        text: the file.
        path: relative to the tree.
        kind: as in `filetypes`.
        mentions: names of environment variables that are read (`$NAME`) or passed on.
        report_only: settings of a service that runs the code elsewhere: nothing is rewritten.
    """

    text: str
    path: str
    kind: str
    settings: list[Setting] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    mentions: list[Word] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    images: list[Word] = field(default_factory=list)
    report_only: bool = False

    def words(self) -> list[Word]:
        """Every piece of text that means something, in order of place, each once."""
        found: dict[tuple[int, int], Word] = {}
        groups = (
            [s.value for s in self.settings],
            [w for c in self.commands for w in c.words],
            [r.word for r in self.requirements],
            self.images,
        )
        for word in (w for group in groups for w in group):
            found.setdefault(word.span(), word)
        return [found[span] for span in sorted(found)]
