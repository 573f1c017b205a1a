"""Group hosts by equal version sets, the odd ones out first; rows wait on disk, not in memory."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npudoctor.fleet.survey import PARTS, HostLine


@dataclass(frozen=True)
class Group:
    """Hosts with one version set.

    Attributes:
        versions: the set, in the order of `PARTS`; empty for unreadable bundles.
        hosts: how many hosts have it.
        differs: (part, here, in the largest group) for each part that differs from the largest group.
    """

    versions: tuple[str, ...]
    hosts: int
    differs: tuple[tuple[str, str, str], ...]


class Spool:
    """Keeps host lines in a temporary database until every host has been seen."""

    def __init__(self) -> None:
        self._file = ""
        try:
            with tempfile.NamedTemporaryFile(prefix="npudoctor-fleet-", suffix=".db", delete=False) as handle:
                self._file = handle.name
            self._db = sqlite3.connect(self._file)
        except OSError:  # nowhere to write: memory is all there is
            self._db = sqlite3.connect(":memory:")
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("CREATE TABLE line (versions TEXT, rank INTEGER, row TEXT)")

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        with suppress(OSError):
            Path(self._file).unlink()

    def add(self, line: HostLine) -> None:
        """Keep one line."""
        row = json.dumps(
            [line.host, line.first, line.title, line.errors, line.warnings, line.codes, line.problem]
        )
        rank = 0 if line.errors else 1 if line.warnings else 2
        self._db.execute("INSERT INTO line VALUES (?, ?, ?)", (json.dumps(line.versions), rank, row))

    def groups(self) -> Iterator[Group]:
        """Groups from the smallest to the largest."""
        query = "SELECT versions, COUNT(*) FROM line GROUP BY versions ORDER BY COUNT(*), versions"
        rows = self._db.execute(query)
        usual = self._db.execute(
            "SELECT versions FROM line WHERE versions != '[]' GROUP BY versions ORDER BY COUNT(*) "
            "DESC, versions"
        ).fetchone()
        most = tuple(json.loads(usual[0])) if usual else ()
        for text, count in rows:
            versions = tuple(json.loads(text))
            differs = tuple((p, v, m) for p, v, m in zip(PARTS, versions, most) if v != m)
            yield Group(versions, count, differs)

    def lines(self, group: Group) -> Iterator[HostLine]:
        """The hosts of a group: errors first, then warnings, then by name."""
        query = "SELECT row FROM line WHERE versions = ? ORDER BY rank, rowid"
        for (text,) in self._db.execute(query, (json.dumps(group.versions),)):
            host, first, title, errors, warnings, codes, problem = json.loads(text)
            words = tuple(title), errors, warnings, tuple(codes), tuple(problem)
            yield HostLine(host, group.versions, first, *words)
