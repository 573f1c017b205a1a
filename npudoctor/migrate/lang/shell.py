"""Shell scripts, Makefiles and .env files."""

from __future__ import annotations

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.shellwords import read_commands
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import View


def view(text: str, path: str) -> View:
    """The commands of a script."""
    seen = View(text, path, filetypes.SHELL)
    read_commands(seen, 0, len(text))
    return seen


LANGUAGE = viewed(filetypes.SHELL, view)
