"""The common part of the languages that idioms look at: every kind of file that is not Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npudoctor.migrate import source
from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.idioms import scan
from npudoctor.migrate.idioms.devices import device_facts
from npudoctor.migrate.lang import Language, wanted_words
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import View


def viewed(
    kind: str, view: Callable[[str, str], View], parse: Callable[[str], object] | None = None
) -> Language:
    """The language of a kind of file that `view` reads.

    Args:
        kind: as named in `filetypes`.
        view: `(text, path)` -> what idioms see.
        parse: raises ValueError for text that is not of this language; what it could parse before
            a change it must be able to parse after.
    """

    def migrate(text: str, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
        result = scan(view(text, path), settings)
        if parse is None or not result.changed or not _parses(parse, text) or _parses(parse, result.text):
            return result
        return FileResult(path, text, failed=True)

    def facts(text: str, path: str) -> Mapping[str, Any]:
        return device_facts(view(text, path))

    return Language(kind, source.decode_text, wanted_words, migrate, facts, True, view)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, RecursionError):
        return False
    return True
