"""INI and CFG files, read line by line; nothing is re-formatted."""

from __future__ import annotations

import re

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.shellwords import read_commands
from npudoctor.migrate.lang.values import add_value, is_command_key
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import View, Word, word_at

_SECTION = re.compile(r"\[([^\]\n]+)\]")
_PAIR = re.compile(r"([^\s=:#;\[][^=:\n]*?)[ \t]*[=:][ \t]*")
_COMMENT = re.compile(r"\s[#;]")


def view(text: str, path: str) -> View:
    """Sections, keys and values; a continued value is a list of its lines."""
    seen = View(text, path, filetypes.INI)
    section: tuple[str, ...] = ()
    key: Word | None = None
    start = 0
    for line in text.split("\n"):
        stripped = line.strip()
        header = _SECTION.match(line)
        pair = _PAIR.match(line)
        if not stripped or stripped[0] in "#;":
            pass
        elif header:
            section, key = (header.group(1).strip(),), None
        elif line[0] in " \t" and key is not None:
            _add(seen, section, key, start + len(line) - len(line.lstrip()), start + len(line), listed=True)
        elif pair:
            key = word_at(text, start + pair.start(1), start + pair.end(1))
            _add(seen, section, key, start + pair.end(), start + len(line), listed=False)
        start += len(line) + 1
    return seen


def _add(seen: View, section: tuple[str, ...], key: Word, start: int, end: int, listed: bool) -> None:
    comment = _COMMENT.search(seen.text, start, end)
    end = comment.start() if comment else end
    value = seen.text[start:end].rstrip()
    end = start + len(value)
    if not value:
        return
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        start, end = start + 1, end - 1
    add_value(seen, section, key, word_at(seen.text, start, end), listed)
    if listed and is_command_key(key.text):
        read_commands(seen, start, end)


LANGUAGE = viewed(filetypes.INI, view)
