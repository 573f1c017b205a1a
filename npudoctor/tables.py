"""Read the data tables: facts with a source and a date per row, kept apart from the code.

A table is a TSV file under `npudoctor/data/`. Its first line is `# date: YYYY-MM-DD`
(the day the table as a whole was last revised), its second the column names. Every
table ends with the columns `source_url source_kind seen_on confidence`.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npudoctor.core.errors import UserError, reason
from npudoctor.core.text import Text, filled

DATA = Path(__file__).parent / "data"
PROVENANCE = ("source_url", "source_kind", "seen_on", "confidence")
SOURCE_KINDS = frozenset(
    {"vendor-doc", "package-index", "wheel", "source-code", "issue", "observed", "article", "site"}
)
CONFIDENCES = frozenset({"high", "medium", "low"})

_UNREADABLE = Text("cannot read the table {path}: {reason}", "无法读取数据表 {path}：{reason}")
_BAD = Text("table {path}, line {line}: {problem}", "数据表 {path} 第 {line} 行：{problem}")
_NOT_UTF8 = Text("not UTF-8 text", "不是 UTF-8 文本")
_NO_DATE = Text("no '# date: YYYY-MM-DD' line", "没有“# date: YYYY-MM-DD”行")
_TWICE = Text("a column stands there twice", "有重复的列")
_CELLS = Text("{cells} cells for {columns} columns", "共 {columns} 列，却有 {cells} 个单元格")
_KEYS = Text("columns unknown: {unknown}, missing: {missing}", "未知的列：{unknown}；缺少的列：{missing}")
_HINT = Text(
    "a table starts with '# date: YYYY-MM-DD', then tab-separated column names, then rows",
    "数据表第一行为“# date: YYYY-MM-DD”，第二行为以制表符分隔的列名，其后为数据行",
)


@dataclass(frozen=True)
class Table:
    """Rows of one table in file order; `date` is the day of its last revision."""

    name: str
    date: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


@functools.cache
def load(name: str) -> Table:
    """The shipped table `data/<name>.tsv`."""
    return read(DATA / f"{name}.tsv")


def read(path: Path) -> Table:
    """Parse one TSV table.

    Raises:
        UserError: unreadable, no date, or a row whose cells do not fit the columns.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserError(_UNREADABLE, params={"path": path, "reason": reason(error)}) from None
    except UnicodeDecodeError:
        raise _error(path, 1, _NOT_UTF8) from None
    match = re.fullmatch(r"# date: (\d{4}-\d{2}-\d{2})", lines[0].strip()) if lines else None
    if match is None or len(lines) < 2 or not _is_date(match.group(1)):
        raise _error(path, 1, _NO_DATE)
    columns = tuple(lines[1].split("\t"))
    if len(set(columns)) < len(columns):
        raise _error(path, 2, _TWICE)
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise _error(path, number, filled(_CELLS, {"cells": len(cells), "columns": len(columns)}))
        rows.append(dict(zip(columns, cells)))
    return Table(path.stem, match.group(1), columns, tuple(rows))


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def overlay(base: Table, extra: Table, key: tuple[str, ...]) -> Table:
    """`base` with the rows of `extra` added; a row with the same key replaces the shipped one.

    Raises:
        UserError: `extra` has a column that `base` lacks, or lacks a key column.
    """
    unknown = set(extra.columns) - set(base.columns)
    missing = set(key) - set(extra.columns)
    if unknown or missing:
        named = {"unknown": ", ".join(sorted(unknown)) or "-", "missing": ", ".join(sorted(missing)) or "-"}
        raise _error(Path(extra.name), 2, filled(_KEYS, named))
    rows = {tuple(row[k] for k in key): row for row in base.rows}
    for row in extra.rows:
        full = {column: row.get(column, "") for column in base.columns}
        rows[tuple(full[k] for k in key)] = full
    return Table(f"{base.name}+{extra.name}", max(base.date, extra.date), base.columns, tuple(rows.values()))


def _error(path: Path, line: int, problem: Text) -> UserError:
    return UserError(_BAD, _HINT, {"path": str(path), "line": line, "problem": problem})
