"""requirements.txt, constraints.txt and their like."""

from __future__ import annotations

import re

from npudoctor.migrate import filetypes, source
from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.idioms import scan
from npudoctor.migrate.lang import Language, wanted_words
from npudoctor.migrate.lang.shellwords import requirement_of
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import Command, View, word_at

_LINE = re.compile(r"[ \t]*([^#\s\\][^#\n\\]*)")


def view(text: str, path: str) -> View:
    """Requirements, and options as commands."""
    seen = View(text, path, filetypes.REQUIREMENTS)
    start = 0
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match:
            begin = start + match.start(1)
            end = begin + len(match.group(1).rstrip())
            _line(seen, begin, end)
        start += len(line) + 1
    return seen


def _line(seen: View, begin: int, end: int) -> None:
    content = seen.text[begin:end]
    if content.startswith("-"):
        words = [word_at(seen.text, begin + m.start(), begin + m.end()) for m in re.finditer(r"\S+", content)]
        seen.commands.append(Command(tuple(words)))
        return
    hashes = re.search(r"\s+--hash", content)
    if hashes:
        end = begin + hashes.start()
    word = word_at(seen.text, begin, end)
    requirement = requirement_of(word)
    if requirement is not None:
        seen.requirements.append(requirement)


def migrate(text: str, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
    """Every idiom over a list of requirements."""
    return scan(view(text, path), settings)


LANGUAGE = Language(filetypes.REQUIREMENTS, source.decode_text, wanted_words, migrate, view=view)
