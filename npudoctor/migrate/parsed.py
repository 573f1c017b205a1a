"""The syntax of a module, apart from what is asked of it: parsed once where two passes need it.

A worker that summarises files for the index of the project keeps their syntax, as much as it
was allowed to; the pass that rewrites takes it out. Nothing is kept unless `keep_up_to` is called.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from npudoctor.migrate.names import Names

_LINE_END = re.compile(r"\r\n|\r|\n")


class Parsed:
    """Tree, scopes and line starts of one text.

    Raises:
        SyntaxError, ValueError, RecursionError: not Python that this interpreter can parse.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.names = Names(self.tree)
        #: What both passes ask of the syntax alone, by name; must not point back at a context.
        self.memo: dict[str, Any] = {}
        #: Offsets of line starts as `ast` counts lines: after LF, CR LF and CR, not after form feeds.
        self.lines = [0, *(match.end() for match in _LINE_END.finditer(source))]


_kept: dict[str, Parsed] = {}
_room = {"all": 0, "left": 0}


def keep_up_to(characters: int) -> None:
    """Let this process keep the syntax of so many characters of source in all."""
    if _room["all"] != characters:
        _kept.clear()
        _room.update(all=characters, left=characters)


def keep(parsed: Parsed) -> None:
    """Keep the syntax for `take`, if there is room."""
    if len(parsed.source) <= _room["left"] and parsed.source not in _kept:
        _kept[parsed.source] = parsed
        _room["left"] -= len(parsed.source)


def take(source: str) -> Parsed:
    """The syntax of `source`, out of what is kept or parsed now.

    Raises:
        SyntaxError, ValueError, RecursionError: as `Parsed`.
    """
    known = _kept.pop(source, None)
    if known is None:
        return Parsed(source)
    _room["left"] += len(source)
    return known
