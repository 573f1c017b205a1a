"""Workflow commands that GitHub shows as annotations on the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npudoctor.core.finding import Severity
from npudoctor.core.text import Text

if TYPE_CHECKING:
    from npudoctor.core.changes import Changes, Item

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_REWRITES = Text("npudoctor migrate rewrites this", "npudoctor migrate 会自动改写此处")


def lines(changes: Changes, lang: str) -> str:
    """One command per item; after a migration only what is left, at its new line."""
    items = changes.left if changes.written else changes.items
    return "".join(f"{_line(item, changes, lang)}\n" for item in items)


def _line(item: Item, changes: Changes, lang: str) -> str:
    finding, place = item.finding, item.finding.place
    level = "warning" if item.applied and finding.severity is Severity.NOTE else _LEVEL[finding.severity]
    properties = [("title", f"{finding.code} {finding.slug}")]
    if place is not None:
        properties.insert(0, ("file", changes.in_repository(place.path)))
        properties[1:1] = _position(item, changes.written)
    note = _REWRITES.render(lang) if item.applied else (
        finding.fixes[0].note.render(lang, finding.params) if finding.fixes else ""
    )
    message = f"{finding.title.render(lang, finding.params)}. {note}".strip()
    joined = ",".join(f"{name}={_property(value)}" for name, value in properties)
    return f"::{level} {joined}::{_data(message)}"


def _position(item: Item, written: bool) -> list[tuple[str, str]]:
    place = item.finding.place
    if place is None or place.line is None:
        return []
    if written:
        return [("line", str(item.new_line))]
    found = [("line", str(place.line))]
    if place.end_line is not None:
        found.append(("endLine", str(place.end_line)))
    # Columns are only understood when the span stays on one line.
    if place.end_line == place.line and place.column is not None and place.end_column is not None:
        found += [("col", str(place.column)), ("endColumn", str(place.end_column))]
    return found


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
