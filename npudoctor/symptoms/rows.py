"""Symptom rows: read from `data/symptoms/*.toml`, checked once, compiled when needed.

A row says how a symptom looks in a log (`match`), what it means and what to do, in both
languages, with its sources. `{name}` in a text is a named group of a pattern of the row.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npudoctor.core.finding import Severity
from npudoctor.core.text import Text
from npudoctor.tables import DATA

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = DATA / "symptoms"

# Literals that stand for "some CANN error code such as EI0006" in `need`.
ECODE = "@ecode"


@enum.unique
class Rank(enum.IntEnum):
    """How much a match says about the cause; lower comes first."""

    CAUSE = 0  # names the cause
    CODE = 1  # an error code with several causes
    EXCEPTION = 2  # a Python exception nothing else explains
    CONSEQUENCE = 3  # happens because something else failed first
    WRAPPER = 4  # only says that something failed
    NOTE = 5  # worth knowing, no failure


@dataclass(frozen=True)
class Candidate:
    """One possible cause of an ambiguous code, and the test that tells it from the others."""

    cause: Text
    test: Text
    fix: Text
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Symptom:
    """One row.

    Attributes:
        id: stable name, kebab-case.
        code: stable code, `NPU9` and three digits.
        area: name of the file the row lives in (`import`, `hccl`, `memory`, ...).
        match: regular expressions, searched line by line; one match is enough.
        need: literal texts without digits, one of which every matching line contains.
        also: expressions that must match somewhere else in the same file too.
        context: expressions that only provide parameters and evidence.
        codes: vendor error codes this row explains (`507008`, `EI0006`, `-8005`).
        candidates: possible causes with their telling tests; empty when the cause is named.
        sources: addresses.
        strength: `high`, `medium`, `low`: how well the sources prove cause and fix.
        examples: lines that this row must explain.
        defaults: values of parameters whose group did not take part.
        fallback: tried only on lines that no other row explains.
    """

    id: str
    code: str
    area: str
    rank: Rank
    severity: Severity
    match: tuple[str, ...]
    need: tuple[str, ...]
    title: Text
    cause: Text
    fix: Text
    commands: tuple[str, ...] = ()
    also: tuple[Mapping[str, Any], ...] = ()
    context: tuple[Mapping[str, Any], ...] = ()
    codes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    strength: str = "high"
    examples: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    fallback: bool = False

    def parameters(self) -> set[str]:
        """Names that its texts fill in."""
        texts = [self.title, self.cause, self.fix]
        texts += [t for c in self.candidates for t in (c.cause, c.test, c.fix)]
        return {name for text in texts for name in Text.parameters(text.en)}


class RowError(Exception):
    """A symptom row is malformed: a fault of the source tree, never of the user."""


@functools.lru_cache(maxsize=1)
def all_symptoms() -> tuple[Symptom, ...]:
    """Every shipped row, ordered by code.

    Raises:
        RowError: a row lacks a field, or an id or code is used twice.
    """
    rows = [row for path in sorted(FOLDER.glob("*.toml")) for row in read(path)]
    for key in ("id", "code"):
        seen: set[str] = set()
        for row in rows:
            value = getattr(row, key)
            if value in seen:
                raise RowError(f"{key} {value} is used twice")
            seen.add(value)
    return tuple(sorted(rows, key=lambda row: row.code))


def read(path: Path) -> list[Symptom]:
    """The rows of one TOML file."""
    with path.open("rb") as handle:
        document = tomllib.load(handle)
    try:
        return [_symptom(path.stem, entry) for entry in document["symptom"]]
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise RowError(f"{path.name}: {type(error).__name__}: {error}") from error


@functools.lru_cache(maxsize=1)
def date() -> str:
    """The day the rows were last revised: `date.txt`."""
    return (FOLDER / "date.txt").read_text(encoding="utf-8").strip()


def _symptom(area: str, entry: Mapping[str, Any]) -> Symptom:
    known = set(Symptom.__dataclass_fields__) | {"candidate"}
    if set(entry) - known:
        raise ValueError(f"{entry.get('id')}: unknown fields {sorted(set(entry) - known)}")
    lists = {
        key: tuple(entry.get(key, ()))
        for key in ("commands", "also", "context", "codes", "aliases", "sources", "examples")
    }
    return Symptom(
        id=entry["id"], code=entry["code"], area=area,
        rank=Rank[entry["rank"].upper()], severity=Severity(entry["severity"]),
        match=tuple(entry["match"]), need=tuple(entry["need"]),
        title=_text(entry["title"]), cause=_text(entry["cause"]), fix=_text(entry["fix"]),
        candidates=tuple(
            Candidate(_text(c["cause"]), _text(c["test"]), _text(c["fix"]), tuple(c.get("commands", ())))
            for c in entry.get("candidate", ())
        ),
        strength=entry.get("strength", "high"), defaults=entry.get("defaults", {}),
        fallback=entry.get("fallback", False), **lists,
    )


def _text(pair: Mapping[str, str]) -> Text:
    return Text(pair["en"], pair["zh"])
