"""A line of terminal text that also breaks between Chinese characters, which have no spaces between them."""

from __future__ import annotations

import re
from typing import Any

from rich.cells import cell_len, get_character_cell_size
from rich.containers import Lines
from rich.text import Text

_CHINESE = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_NOT_FIRST = frozenset("，。；：、！？）】》」”’%")  # never begins a line
_NOT_LAST = frozenset("（【《「“‘")  # never ends one


class Line(Text):
    """Rich's text; where it holds Chinese, a line is filled to its end instead of to its last space."""

    def wrap(self, console: Any, width: int, **options: Any) -> Lines:
        """Wrap to `width` cells; rich's own way for text without Chinese."""
        if options.get("no_wrap") or not _CHINESE.search(self.plain):
            return super().wrap(console, width, **options)
        lines = Lines()
        for paragraph in self.split(allow_blank=True):
            for part in paragraph.divide(breaks(paragraph.plain, width)):
                part.rstrip_end(width)
                lines.append(part)
        return lines


def padded(text: str, width: int) -> str:
    """`text` filled with spaces to `width` cells: a Chinese character takes two."""
    return text + " " * (width - cell_len(text))


def breaks(text: str, width: int) -> list[int]:
    """Offsets at which `text` is cut so that every part fits into `width` cells."""
    found: list[int] = []
    used, best = 0, 0  # cells since the last cut; the last place where a cut is allowed
    start = 0
    for index, char in enumerate(text):
        if index > start and _may_break(text[index - 1], char):
            best = index
        used += get_character_cell_size(char)
        while used > width and char != " " and index > start:
            start = best if best > start else index
            found.append(start)
            used = sum(get_character_cell_size(c) for c in text[start : index + 1])
    return found


def _may_break(before: str, after: str) -> bool:
    if after in _NOT_FIRST or before in _NOT_LAST or after == " ":
        return False
    return before == " " or bool(_CHINESE.match(before) or _CHINESE.match(after))


def can_encode(console: Any, text: str) -> bool:
    """Whether the console's encoding has every character of `text`."""
    try:
        text.encode(console.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
