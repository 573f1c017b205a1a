"""TOML files, read line by line; nothing is re-formatted."""

from __future__ import annotations

import re
import sys

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.flow import read_flow
from npudoctor.migrate.lang.shellwords import requirement_of
from npudoctor.migrate.lang.values import add_value
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import Requirement, View, Word, word_at

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = re.compile(r"[ \t]*\[\[?\s*([^\]\n]+?)\s*\]\]?[ \t]*(#.*)?$", re.MULTILINE)
_NAME = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
_PAIR = re.compile(rf"[ \t]*({_NAME}(?:\s*\.\s*{_NAME})*)[ \t]*=[ \t]*")
_MULTILINE = re.compile(r'"""|\'\'\'')
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'([^\'\n]*)\'')


def view(text: str, path: str) -> View:
    """Tables, keys and strings of a TOML file."""
    seen = View(text, path, filetypes.TOML)
    table: tuple[str, ...] = ()
    position = 0
    while position < len(text):
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        header = _TABLE.match(text, position, line_end)
        pair = _PAIR.match(text, position, line_end)
        if header:
            table = _names(header.group(1))
        elif pair:
            line_end = max(line_end, _value(seen, table, pair, line_end))
        position = line_end + 1
    return seen


def _value(seen: View, table: tuple[str, ...], pair: re.Match[str], line_end: int) -> int:
    """Add the value after `key =`; returns the offset of the line end after it."""
    text, start = seen.text, pair.end()
    names = _names(pair.group(1))
    key = word_at(text, pair.end(1) - len(names[-1]), pair.end(1))
    if text[pair.end(1) - 1] in "\"'":
        key = word_at(text, pair.end(1) - 1 - len(names[-1]), pair.end(1) - 1)
    path = (*table, *names[:-1])
    block = _MULTILINE.match(text, start)
    if block:
        close = text.find(block.group(), block.end())
        return _end_of_line(text, len(text) if close < 0 else close)
    if text[start : start + 1] in ("[", "{"):
        return _end_of_line(text, read_flow(seen, path, key, start, len(text)))
    string = _STRING.match(text, start, line_end)
    if string:
        group = 1 if string.group(1) is not None else 2
        value = word_at(text, *string.span(group))
        add_value(seen, path, key, value)
        _poetry(seen, path, key, value)
    return line_end


def _poetry(seen: View, path: tuple[str, ...], key: Word, value: Word) -> None:
    """`torch = "^2.1"` under a table of dependencies."""
    if path and path[-1].endswith("dependencies") and (named := requirement_of(key)):
        spec = re.sub(r"^\^|^~(?!=)", ">=", value.text)
        spec = f"=={spec}" if re.match(r"\d", spec) else spec
        seen.requirements.append(Requirement(named.name, "" if spec == "*" else spec, key))


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", dotted))


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


LANGUAGE = viewed(filetypes.TOML, view, tomllib.loads)
