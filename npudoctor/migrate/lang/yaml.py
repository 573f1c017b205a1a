"""YAML files, read line by line: enough to place keys and scalars, nothing is re-formatted.

Anchors, tags, folded and multi-line plain scalars are passed over; what is passed over is
never rewritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.flow import DEPTH, read_flow
from npudoctor.migrate.lang.shellwords import read_commands
from npudoctor.migrate.lang.values import add_list, add_value, is_command_key
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import Setting, View, Word, word_at

_KEY = re.compile(r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s#\[\]{},\"'&*!|>%@`-][^#\n]*?|-[^\s#][^#\n]*?)\s*:(?=\s|$)")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?\s*(#.*)?$")
_CI = re.compile(r"(^|/)(\.github/|\.circleci/|\.gitlab-ci|azure-pipelines|\.azure|\.buildkite/|\.travis)")


@dataclass
class _Level:
    indent: int
    key: Word
    items: list[Word]


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self.view = View(text, path, filetypes.YAML, report_only=bool(_CI.search(path)))
        self.text = text
        self.levels: list[_Level] = []
        self.block: tuple[int, str, int] | None = None  # indent of its key, key, where it begins

    def run(self) -> View:
        start = 0
        for line in self.text.split("\n"):
            self._line(line, start)
            start += len(line) + 1
        self._close_block(len(self.text))
        self._pop(-1)
        return self.view

    def _line(self, line: str, start: int) -> None:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if self.block is not None:
            if not stripped or indent > self.block[0]:
                return
            self._close_block(start)
        if not stripped or stripped.startswith(("#", "---", "...", "%")):
            return
        position = indent
        dashes = 0
        while line[position : position + 2] in ("- ", "-"):
            dashes += 1
            position += 1
            while position < len(line) and line[position] == " ":
                position += 1
        if position >= len(line):
            self._pop(indent + (1 if dashes else 0))
            return
        self._content(line, start, indent, position, dashes)

    def _content(self, line: str, start: int, indent: int, position: int, dashes: int) -> None:
        match = _KEY.match(line, position)
        if match is None:
            # An item may stand at the indentation of its key.
            self._pop(indent + 1 if dashes else indent)
            if dashes and self.levels:
                self._item(line, start, position, indent)
            return
        self._pop(indent + 1 if dashes else position)
        key = _unquoted(self.text, start + match.start(1), start + match.end(1))
        self.levels.append(_Level(position, key, []))
        self._value(line, start, match.end(), position)

    def _pop(self, indent: int) -> None:
        """Leave the levels that do not hold what stands at `indent`."""
        while self.levels and self.levels[-1].indent >= indent:
            level = self.levels.pop()
            add_list(self.view, level.key.text, level.items)

    def _path(self, upto: int) -> tuple[str, ...]:
        return tuple(level.key.text for level in self.levels[max(0, upto - DEPTH) : upto])

    def _value(self, line: str, start: int, after: int, indent: int) -> None:
        begin, end = _trim(line, after)
        if begin == end:
            return
        key = self.levels[-1].key
        if _BLOCK.match(line, begin):
            self.block = (indent, key.text, start + len(line) + 1)
        elif line[begin] in "[{":
            read_flow(self.view, self._path(len(self.levels) - 1), key, start + begin, start + end)
        else:
            value = _scalar(self.text, start + begin, start + end)
            self._pair(key, value)
            add_value(self.view, self._path(len(self.levels) - 1), key, value)

    def _pair(self, key: Word, value: Word) -> None:
        """Kubernetes writes a variable as `- name: X` followed by `value: Y`."""
        settings = self.view.settings
        if key.text == "value" and settings and settings[-1].key.text == "name":
            name = settings[-1].value
            if re.fullmatch(r"[A-Z][A-Z0-9_]+", name.text):
                settings.append(Setting(name, value, self._path(len(self.levels) - 1), True))

    def _item(self, line: str, start: int, position: int, indent: int) -> None:
        begin, end = _trim(line, position)
        if begin == end:
            return
        level = self.levels[-1]
        if _BLOCK.match(line, begin):
            self.block = (indent, level.key.text, start + len(line) + 1)
        elif line[begin] in "[{":
            read_flow(self.view, self._path(len(self.levels) - 1), level.key, start + begin, start + end)
        else:
            value = _scalar(self.text, start + begin, start + end)
            level.items.append(value)
            add_value(self.view, self._path(len(self.levels) - 1), level.key, value, listed=True)
            if is_command_key(level.key.text) and " " in value.text:
                level.items.pop()  # a command of its own, as in a CI script
                read_commands(self.view, *value.span())

    def _close_block(self, end: int) -> None:
        if self.block is not None and is_command_key(self.block[1]):
            read_commands(self.view, self.block[2], min(end, len(self.text)))
        self.block = None


def _trim(line: str, after: int) -> tuple[int, int]:
    """Span of the value in `line` from `after`, without blanks and comment."""
    begin = after
    while begin < len(line) and line[begin] in " \t":
        begin += 1
    end = len(line)
    quote = ""
    for i in range(begin, len(line)):
        char = line[i]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (i == begin or line[i - 1] in " [{,:"):
            quote = char
        elif char == "#" and (i == begin or line[i - 1] in " \t"):
            end = i
            break
    while end > begin and line[end - 1] in " \t":
        end -= 1
    return begin, end


def _unquoted(text: str, start: int, end: int) -> Word:
    if end - start >= 2 and text[start] in "\"'" and text[end - 1] == text[start]:
        return word_at(text, start + 1, end - 1)
    return word_at(text, start, end)


def _scalar(text: str, start: int, end: int) -> Word:
    word = _unquoted(text, start, end)
    return Word(word.text, word.at, "${" not in word.text and "{{" not in word.text, start)


def view(text: str, path: str) -> View:
    """Keys and scalars of a YAML file."""
    return _Reader(text, path).run()


LANGUAGE = viewed(filetypes.YAML, view)
