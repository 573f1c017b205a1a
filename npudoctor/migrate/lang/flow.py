"""JSON, and the parts of YAML and TOML that look like it: `[a, b]` and `{k: v, k = v}`.

Read with a stack of its own, not by recursion: a file nested a million deep is only read slowly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from npudoctor.migrate.lang.values import add_list, add_value
from npudoctor.migrate.view import View, Word, word_at

DEPTH = 12  # names of enclosing collections that are kept: no idiom looks further out
_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
    r"""|(?P<mark>[\[\]{},]|[:=](?=[\s"'\[{]|$)|(?<=["'\]}])[:=])"""
    r"""|(?P<plain>[^\s\[\]{},"'#:=][^\[\]{},"'\n]*?(?=\s*[:=][\s"'\[{]|\s*[:=]$|\s*[,\[\]{}\n]|$)|.)""",
    re.DOTALL,
)


@dataclass
class _Frame:
    """An open list (`key` names it) or mapping."""

    mapping: bool
    key: Word
    items: list[Word] = field(default_factory=list)
    pending: Word | None = None


def read_flow(view: View, path: tuple[str, ...], key: Word, start: int, end: int) -> int:
    """Add what stands in the collection that begins at `start`; returns where it ends.

    Args:
        view: the file.
        path: keys above `key`.
        key: name of the collection.
        start, end: where to read; the collection may end earlier.
    """
    frames: list[_Frame] = []
    names: list[str] = list(path)
    position = start
    while position < end:
        match = _TOKEN.match(view.text, position, end)
        if match is None:
            break
        position = match.end()
        if match.lastgroup == "mark":
            _mark(view, match.group(), frames, names, key)
            if not frames:
                break
        elif match.lastgroup in ("string", "plain") and frames:
            _scalar(view, frames[-1], names, _word(view.text, match))
    while frames:  # a value that goes on past `end`
        _close(view, frames, names)
    return position


def _mark(view: View, mark: str, frames: list[_Frame], names: list[str], key: Word) -> None:
    if mark in "[{":
        name = key
        if frames:
            top = frames[-1]
            name = top.pending or top.key
            top.pending = None
        names.append(name.text)
        frames.append(_Frame(mark == "{", name))
    elif mark in "]}":
        _close(view, frames, names)
    elif mark == "," and frames:
        frames[-1].pending = None


def _close(view: View, frames: list[_Frame], names: list[str]) -> None:
    if not frames:
        return
    frame = frames.pop()
    names.pop()
    if not frame.mapping:
        add_list(view, frame.key.text, frame.items)
    if frames:
        frames[-1].pending = None


def _scalar(view: View, frame: _Frame, names: list[str], word: Word) -> None:
    if not frame.mapping:
        frame.items.append(word)
        add_value(view, tuple(names[-DEPTH - 1 : -1]), frame.key, word, listed=True)
    elif frame.pending is None:
        frame.pending = word
    else:
        add_value(view, tuple(names[-DEPTH:]), frame.pending, word)
        frame.pending = None


def _word(text: str, match: re.Match[str]) -> Word:
    start, end = match.span()
    if match.lastgroup == "string":
        if "\\" in match.group():  # offsets of escapes are not worth keeping: such a word is only reported
            return Word(text[start + 1 : end - 1], tuple(range(start + 1, end - 1)), False, start)
        return word_at(text, start + 1, end - 1)
    while end > start and text[end - 1].isspace():
        end -= 1
    return word_at(text, start, end)
