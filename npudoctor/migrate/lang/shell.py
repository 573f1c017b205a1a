"""Shell scripts, Makefiles and .env files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.migrate import filetypes, source
from npudoctor.migrate.engine import FileResult
from npudoctor.migrate.idioms import scan
from npudoctor.migrate.idioms.devices import device_facts
from npudoctor.migrate.lang import Language, wanted_words
from npudoctor.migrate.lang.shellwords import read_commands
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import View


def view(text: str, path: str) -> View:
    """The commands of a script."""
    seen = View(text, path, filetypes.SHELL)
    read_commands(seen, 0, len(text))
    return seen


def migrate(text: str, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
    """Every idiom over a script."""
    return scan(view(text, path), settings)


def facts(text: str, path: str) -> Mapping[str, Any]:
    """Where the file names a device."""
    return device_facts(view(text, path))


LANGUAGE = Language(filetypes.SHELL, source.decode_text, wanted_words, migrate, facts, True, view)
