"""What a migration changes or would change, in a form that every renderer can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npudoctor.core.finding import Finding, Place, Safety


@dataclass(frozen=True)
class Insertion:
    """Put `text` in the place of what stands at `place` (columns in characters, end exclusive)."""

    place: Place
    text: str


@dataclass(frozen=True)
class Item:
    """One finding of the migration and what became of it.

    Attributes:
        finding: its place counts in the text before the migration.
        applied: the rewrite was made (or would be, when nothing is written).
        safety: of the rewrite; MANUAL when there is none.
        new_line: line in the text after the migration.
        edits: the rewrite, in places of the text before; empty when it cannot be told apart.
    """

    finding: Finding
    applied: bool
    safety: Safety
    new_line: int
    edits: tuple[Insertion, ...] = ()


@dataclass(frozen=True)
class FileChange:
    """Text of one changed file before and after, line ends as "\\n"."""

    path: str
    old: str
    new: str
    edits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """All items in order of place, all changed files, and whether the files were written.

    Attributes:
        base: the folder that paths are relative to, as seen from the repository's root; empty when
            it is the root, or when there is none.
    """

    items: tuple[Item, ...]
    files: tuple[FileChange, ...]
    written: bool
    base: str = ""

    def in_repository(self, path: str) -> str:
        """`path` as seen from the repository's root, which code-scanning services go by."""
        return f"{self.base}/{path}" if self.base else path

    @property
    def applied(self) -> tuple[Item, ...]:
        """Items whose rewrite was made."""
        return tuple(item for item in self.items if item.applied)

    @property
    def left(self) -> tuple[Item, ...]:
        """Items that were only reported."""
        return tuple(item for item in self.items if not item.applied)
