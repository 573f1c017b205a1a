"""Profiler databases: `ascend_pytorch_profiler_*.db` of torch_npu and `msprof_*.db` of CANN.

Tables and columns: https://www.hiascend.com/document/detail/en/canncommercial/850/devaids/profiling/atlasprofiling_16_1145.html
and https://gitcode.com/Ascend/msprof/blob/master/docs/en/user_guide/profile_data_file_references_db.md. Times
are nanoseconds since 1970 (torch_npu stores its own as text), names are numbers into STRING_IDS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npudoctor.profile import cells, classify
from npudoctor.profile.chrome import Advance, NotATrace
from npudoctor.profile.model import Builder, Kind, Trace

if TYPE_CHECKING:
    import sqlite3

_MAGIC = b"SQLite format 3\0"
_CHUNK = 10_000  # rows between two reports of progress
_THREAD = 0xFFFFFFFF  # globalTid: process in the high, thread in the low 32 bits
_TIMES = ("startNs", "endNs")
_LONGEST = 10**18  # ns; what lies further apart is not one run
# The tables that are read, and the columns without which a table tells nothing.
_NEEDED = {
    "PYTORCH_API": (*_TIMES, "globalTid", "name"),
    "CANN_API": (*_TIMES, "globalTid", "name"),
    "MSTX_EVENTS": (*_TIMES, "globalTid", "message"),
    "STEP_TIME": (*_TIMES, "id"),
    "TASK": (*_TIMES, "deviceId", "streamId", "taskType", "globalTaskId"),
    "COMMUNICATION_OP": (*_TIMES, "opName"),
}
_Row = tuple[Any, ...]


def is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's files do."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read(path: Path, advance: Advance) -> Trace:
    """The intervals of a database, classified as the same events of `trace_view.json` are.

    A file that is damaged in the middle is read up to there, and `Trace.cut` says so.

    Args:
        advance: called with a number of bytes, in proportion to the rows read.

    Raises:
        NotATrace: it cannot be opened, or holds none of the tables.
    """
    try:
        import sqlite3
    except ImportError:  # a Python built without it
        raise NotATrace("this Python has no sqlite3 module") from None
    try:
        connection = sqlite3.connect(_address(path), uri=True)
    except sqlite3.Error as error:
        raise NotATrace(str(error)) from None
    builder, cut = Builder(), False
    try:
        _Database(connection, builder, _Progress(path, advance)).read()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the names of a damaged schema too
        cut = bool(len(builder))
        if not cut:
            raise NotATrace(" ".join(str(error).split())[:120]) from None
    finally:
        connection.close()
    return builder.build(str(path), "ascend", cut=cut)


def _address(path: Path) -> str:
    """For reading alone; `immutable` makes no files beside it, but would not read a log that is there."""
    log = path.with_name(path.name + "-wal")
    return path.absolute().as_uri() + ("?mode=ro" if log.exists() else "?mode=ro&immutable=1")


class _Progress:
    """Turns rows into the file's bytes."""

    def __init__(self, path: Path, advance: Advance) -> None:
        self._bytes, self._advance = os.path.getsize(path), advance
        self.rows = 1

    def __call__(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        count = 0
        for count, row in enumerate(rows, 1):
            if count % _CHUNK == 0:
                self._advance(self._bytes * _CHUNK // self.rows)
            yield row
        self._advance(self._bytes * (count % _CHUNK) // self.rows)


class _Database:
    """One open database, and the builder that its rows go to."""

    def __init__(self, connection: sqlite3.Connection, builder: Builder, progress: _Progress) -> None:
        self._connection, self._builder, self._progress = connection, builder, progress
        connection.text_factory = _decoded
        # Real tables alone: a view could be made to never end.
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._columns = {str(name): self._columns_of(str(name)) for (name,) in tables.fetchall()}
        self._present = [
            table for table, needed in _NEEDED.items() if set(needed) <= self._columns.get(table, set())
        ]
        self._strings: dict[Any, str] = {}
        self._stacks: dict[Any, str] = {}
        self._near: int | None = None  # some time of the run: floats count from here

    def read(self) -> None:
        """All tables that are there.

        Raises:
            NotATrace: there is none.
        """
        if not self._present:
            raise NotATrace(f"it has none of the tables {', '.join(_NEEDED)}")
        self._learn()
        readers = {
            "PYTORCH_API": self._framework,
            "CANN_API": self._runtime,
            "MSTX_EVENTS": self._marks,
            "STEP_TIME": self._steps,
            "TASK": self._tasks,
            "COMMUNICATION_OP": self._collectives,
        }
        for table in self._present:
            readers[table]()

    def _columns_of(self, table: str) -> set[str]:
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return {str(name) for (name,) in rows}

    def _has(self, table: str, *columns: str) -> bool:
        return set(columns) <= self._columns.get(table, set())

    def _learn(self) -> None:
        """Strings, call stacks, a time to count from, and the number of rows."""
        if self._has("STRING_IDS", "id", "value"):
            rows = self._connection.execute("SELECT id, value FROM STRING_IDS")
            self._strings = {number: str(value) for number, value in rows}
        if self._has("PYTORCH_CALLCHAINS", "id", "stack", "stackDepth"):
            chains: dict[Any, list[str]] = {}
            sql = "SELECT id, stack FROM PYTORCH_CALLCHAINS ORDER BY id, stackDepth"
            for chain, line in self._connection.execute(sql):
                chains.setdefault(chain, []).append(self._text(line))
            self._stacks = {chain: ";".join(lines) for chain, lines in chains.items()}
        for table in self._present:
            # No pass over the table: it may be large, or damaged in the middle.
            last = self._connection.execute(f"SELECT MAX(rowid) FROM {table}").fetchone()[0]
            self._progress.rows += last or 0
            one = self._connection.execute(f"SELECT CAST(startNs AS INTEGER) FROM {table} LIMIT 1").fetchone()
            self._near = self._near or (one[0] if one else None)

    def _text(self, value: Any) -> str:
        """A name: a number into STRING_IDS, or the text itself."""
        return value if isinstance(value, str) else self._strings.get(value, "?")

    def _column(self, table: str, column: str, short: str = "t") -> str:
        """A column for SELECT; NULL where this version of the table does not have it."""
        return f"{short}.{column}" if self._has(table, column) else "NULL"

    def _rows(self, table: str, *columns: str) -> Iterator[_Row]:
        """These columns of a table."""
        return self._select(table, *(self._column(table, column) for column in columns))

    def _select(self, table: str, *columns: str, rest: str = "") -> Iterator[_Row]:
        sql = f"SELECT {', '.join(columns)} FROM {table} AS t{rest}"
        return self._progress(iter(self._connection.execute(sql)))

    def _add(self, name: str, kind: Kind | None, track: str, times: list[Any], stack: str | None = None,
             aicpu: bool = False) -> None:  # fmt: skip
        try:
            start, end = (int(time) - (self._near or 0) for time in times)
        except (TypeError, ValueError, OverflowError):  # NULL: it never ended
            kind, start, end = None, 0, 0
        if kind is None or not -_LONGEST < start <= end < _LONGEST:
            self._builder.skipped += 1
            return
        self._builder.add(kind, name, track, start / 1e3, (end - start) / 1e3, stack, aicpu=aicpu)

    def _framework(self) -> None:
        """Operators, the user's marks, frames of the Python tracer; its queue restates them."""
        rows = self._rows("PYTORCH_API", *_TIMES, "globalTid", "name", "type", "callchainId")
        for *times, thread, name, api, chain in rows:
            text = self._text(name)
            kind = classify.kind_of(f"PYTORCH_API {api}", "", text)
            self._add(text, kind, _thread(thread), times, self._stacks.get(chain))

    def _runtime(self) -> None:
        """Calls of the host into CANN."""
        for *times, thread, name in self._rows("CANN_API", *_TIMES, "globalTid", "name"):
            text = self._text(name)
            self._add(text, classify.kind_of("", "CANN", text), _thread(thread), times)

    def _marks(self) -> None:
        """mstx ranges that the user marked."""
        for *times, thread, message in self._rows("MSTX_EVENTS", *_TIMES, "globalTid", "message"):
            text = self._text(message)
            self._add(text, classify.kind_of("user_annotation", "", text), _thread(thread), times)

    def _steps(self) -> None:
        """The profiler's steps, unless they are among the operators, as its marks are."""
        if any(classify.is_step(text) for text in self._strings.values()):
            return
        for *times, number in self._rows("STEP_TIME", *_TIMES, "id"):
            self._add(f"ProfilerStep#{number}", Kind.ANNOTATION, "steps", times)

    def _tasks(self) -> None:
        """What ran on the device. Parts of a collective are left out: COMMUNICATION_OP holds the whole."""
        rest = ""
        for table, short in (("COMPUTE_TASK_INFO", "c"), ("MEMCPY_INFO", "m")):
            if self._has(table, "globalTaskId"):
                rest += f" LEFT JOIN {table} AS {short} ON {short}.globalTaskId = t.globalTaskId"
        if "COMMUNICATION_OP" in self._present and self._has("COMMUNICATION_TASK_INFO", "globalTaskId"):
            parts = "SELECT globalTaskId FROM COMMUNICATION_TASK_INFO WHERE globalTaskId IS NOT NULL"
            rest += f" WHERE t.globalTaskId NOT IN ({parts})"
        columns = [f"t.{column}" for column in (*_TIMES, "deviceId", "streamId", "taskType")]
        columns += [self._column("COMPUTE_TASK_INFO", column, "c") for column in ("name", "taskType")]
        columns += [self._column("MEMCPY_INFO", "size", "m")]
        for *times, device, stream, task, name, core, size in self._select("TASK", *columns, rest=rest):
            text = self._text(task if name is None else name)
            kind = classify.kind_of("", "Ascend Hardware", text)
            if isinstance(size, (int, float)):
                kind = Kind.COPY
                self._builder.copied_bytes += size if 0 <= size < _LONGEST else 0
            on_aicpu = cells.on_aicpu(self._text(task if core is None else core)) or classify.on_aicpu(text)
            self._add(text, kind, f"device {device}/{stream}", times, aicpu=kind is Kind.DEVICE and on_aicpu)

    def _collectives(self) -> None:
        rows = self._rows("COMMUNICATION_OP", *_TIMES, "opName", "deviceId", "groupName")
        for *times, name, device, group in rows:
            self._add(self._text(name), Kind.COMMUNICATION, f"device {device or 0}/{group}", times)


def _thread(number: Any) -> str:
    """The same thread's name whichever layer the event comes from."""
    return f"thread {number & _THREAD}" if isinstance(number, int) else f"thread {number}"


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")
