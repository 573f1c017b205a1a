"""JSON files, comments allowed."""

from __future__ import annotations

import json

from npudoctor.migrate import filetypes
from npudoctor.migrate.lang.flow import read_flow
from npudoctor.migrate.lang.viewed import viewed
from npudoctor.migrate.view import View, Word


def view(text: str, path: str) -> View:
    """Keys and strings of a JSON file."""
    seen = View(text, path, filetypes.JSON)
    position = 0
    while position < len(text):  # JSON Lines: one value after the other
        position = read_flow(seen, (), Word("", ()), position, len(text))
    return seen


LANGUAGE = viewed(filetypes.JSON, view, json.loads)
