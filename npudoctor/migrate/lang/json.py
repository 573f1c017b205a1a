"""JSON files, comments allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from npudoctor.migrate import filetypes, source
from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.idioms import scan
from npudoctor.migrate.idioms.devices import device_facts
from npudoctor.migrate.lang import Language, wanted_words
from npudoctor.migrate.lang.flow import read_flow
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import View, Word


def view(text: str, path: str) -> View:
    """Keys and strings of a JSON file."""
    seen = View(text, path, filetypes.JSON)
    position = 0
    while position < len(text):  # JSON Lines: one value after the other
        position = read_flow(seen, (), Word("", ()), position, len(text))
    return seen


def migrate(text: str, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
    """Every idiom; a file that was JSON before must be JSON after."""
    result = scan(view(text, path), settings)
    if result.changed and _valid(text) and not _valid(result.text):
        return FileResult(path, text, failed=True)
    return result


def _valid(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def facts(text: str, path: str) -> Mapping[str, Any]:
    """Where the file names a device."""
    return device_facts(view(text, path))


LANGUAGE = Language(filetypes.JSON, source.decode_text, wanted_words, migrate, facts, True, view)
