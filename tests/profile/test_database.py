"""Profiler databases: the run of fixtures/profiles in the tables that torch_npu documents."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy")
pytest.importorskip("ijson")

from npudoctor.core.errors import UserError
from npudoctor.profile.analyse import Analysis, analyse
from npudoctor.profile.model import Kind
from npudoctor.profile.readers import read, total_bytes
from npudoctor.profile.verdict import judge
from tests.conftest import FIXTURES, RunCli

LEVEL1 = FIXTURES / "profiles" / "level1_two_cards" / "host_4242_20251130_ascend_pt"
# Source: https://www.hiascend.com/document/detail/en/canncommercial/850/devaids/profiling/atlasprofiling_16_1145.html
SCHEMA = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
    sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER,
    callchainId INTEGER, type INTEGER);
CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
    connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,
    globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER,
    taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockNum INTEGER,
    taskType INTEGER, opType INTEGER);
"""
OPERATOR, QUEUE, FRAME = 50001, 50002, 50003
PID = 4242 << 32


class Writer:
    """Fills the tables of one run."""

    def __init__(self, path: Path, schema: str = SCHEMA, page_size: int = 4096) -> None:
        self.path = path
        self.connection = sqlite3.connect(path)
        self.connection.executescript(f"PRAGMA page_size = {page_size};{schema}")
        self._ids: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.executemany(
            "INSERT INTO STRING_IDS VALUES (?, ?)", [(i, s) for s, i in self._ids.items()]
        )
        self.connection.commit()
        self.connection.close()

    def text(self, value: str) -> int:
        """The number of a string; numbers begin high, as torch_npu's do."""
        return self._ids.setdefault(value, (1 << 28) + len(self._ids))

    def row(self, table: str, **values: Any) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))

    def next(self, what: str) -> int:
        self._counts[what] = self._counts.get(what, 0) + 1
        return self._counts[what]

    def api(
        self, start: int, end: int, name: str, kind: int = OPERATOR, stack: str = "", tid: int = 4242
    ) -> None:
        chain = self.next("chain") if stack else None
        for depth, line in enumerate(stack.split(";\r\n") if stack else ()):
            self.row("PYTORCH_CALLCHAINS", id=chain, stack=self.text(line), stackDepth=depth)
        times = {"startNs": str(start), "endNs": str(end)}
        self.row(
            "PYTORCH_API", **times, globalTid=PID + tid, name=self.text(name), callchainId=chain, type=kind
        )

    def cann(self, start: int, end: int, name: str, tid: int = 4242) -> None:
        self.row("CANN_API", startNs=start, endNs=end, type=20000, globalTid=PID + tid, name=self.text(name))

    def task(self, start: int, end: int, task: str, name: str = "", core: str = "", device: int = 0) -> int:
        number = self.next("task")
        self.row("TASK", startNs=start, endNs=end, deviceId=device, globalTaskId=number, streamId=2,
                 taskType=self.text(task))  # fmt: skip
        if name:
            self.row("COMPUTE_TASK_INFO", name=self.text(name), globalTaskId=number, taskType=self.text(core))
        return number


def ns(event: dict[str, Any]) -> tuple[int, int]:
    whole, _, fraction = str(event["ts"]).partition(".")
    start = int(whole) * 1000 + int((fraction + "000")[:3])
    return start, start + round(float(event["dur"]) * 1000)


def as_database(path: Path, page_size: int = 4096) -> Path:
    """The run of `level1_two_cards` as torch_npu would have stored it with export_type Db."""
    events = json.loads((LEVEL1 / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    names = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    with Writer(path, page_size=page_size) as out:
        for event in events:
            if event["ph"] != "X" or names[event["pid"]] == "Overlap Analysis":
                continue
            start, end = ns(event)
            args = event.get("args", {})
            if names[event["pid"]] == "Python":
                out.api(start, end, event["name"], stack=args.get("Call stack", ""), tid=event["tid"])
            elif names[event["pid"]] == "CANN":
                out.cann(start, end, event["name"].partition("@")[2], tid=event["tid"])
            else:
                core = "AI_CPU" if "AiCpu" in event["name"] else args.get("Task Type", "AI_CORE")
                out.task(start, end, "KERNEL_AICORE", event["name"], core)
    return path


def facts_of(analysis: Analysis) -> dict[str, Any]:
    return {
        "window": round(analysis.window_us, 3),
        "busy": round(analysis.busy_us, 3),
        "syncs": [(s.where, s.count) for s in analysis.syncs],
        "launches": analysis.launches,
        "operators": [(o.name, o.count, round(o.total_us, 3), o.aicpu) for o in analysis.by_time],
        "verdict": judge(analysis).extra["verdict"],
    }


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return as_database(tmp_path / "ascend_pytorch_profiler_0.db")


def test_the_same_run_says_the_same(database: Path) -> None:
    trace = read(database)
    assert trace.form == "ascend"
    assert not trace.cut
    of_json = analyse(read(LEVEL1))
    found = facts_of(analyse(trace))
    assert {**found, "syncs": []} == {**facts_of(of_json), "syncs": []}
    assert [count for _, count in found["syncs"]] == [s.count for s in of_json.syncs]
    assert found["syncs"][0][0].line == "train.py:21"
    assert found["verdict"] == "sync-bound"


def test_found_in_a_folder_and_by_the_command(database: Path, run_cli: RunCli) -> None:
    folder = database.parent
    (folder / "analysis.db").write_bytes(database.read_bytes())  # torch_npu's other database is not taken
    assert total_bytes(folder) == database.stat().st_size
    assert read(folder).source == str(database)
    result = run_cli("profile", "--json", str(database))
    assert result.returncode == 1
    assert "NPU503" in result.stdout


def test_nothing_is_written_beside_it(database: Path) -> None:
    before = sorted(os.listdir(database.parent))
    read(database)
    assert sorted(os.listdir(database.parent)) == before


def test_waits_copies_collectives_and_their_parts(tmp_path: Path) -> None:
    extra = """
    CREATE TABLE MEMCPY_INFO (globalTaskId NUMERIC, size NUMERIC, memcpyOperation NUMERIC);
    CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, groupName INTEGER,
        deviceId INTEGER);
    CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER);
    """
    with Writer(tmp_path / "a.db", SCHEMA + extra) as out:
        out.task(1_000, 2_000, "NOTIFY_WAIT_SQE")
        out.task(2_000, 3_000, "EVENT_WAIT")
        copy = out.task(3_000, 5_000, "KERNEL_OF_ANOTHER_NAME")
        out.row("MEMCPY_INFO", globalTaskId=copy, size=4096, memcpyOperation=1)
        out.task(5_000, 6_000, "PCIE_DMA_SQE")
        part = out.task(6_000, 7_000, "SDMA_SQE")
        out.row("COMMUNICATION_TASK_INFO", name=out.text("Memcpy"), globalTaskId=part)
        out.row(
            "COMMUNICATION_OP", opName=out.text("hcom_allReduce__1"), startNs=6_000, endNs=9_000, deviceId=0
        )
    trace = read(tmp_path / "a.db")
    found = [(Kind(k), trace.names[n], s, e) for k, n, s, e in zip(*columns(trace))]
    assert found == [
        (Kind.COPY, "KERNEL_OF_ANOTHER_NAME", 0.0, 2.0),
        (Kind.COPY, "PCIE_DMA_SQE", 2.0, 3.0),
        (Kind.COMMUNICATION, "hcom_allReduce__1", 3.0, 6.0),
    ]
    assert trace.copied_bytes == 4096
    assert trace.skipped == 2, "the waits"


def columns(trace: Any) -> tuple[Any, ...]:
    return tuple(getattr(trace.columns, name).tolist() for name in ("kind", "name", "start", "end"))


def test_marks_steps_frames_and_the_queue(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.db") as out:
        out.api(0, 9_000, "ProfilerStep#3")
        out.api(0, 8_000, "env")
        out.api(0, 7_000, "train.py(3): step", FRAME)
        out.api(0, 6_000, "Enqueue@aclnnMul", QUEUE)
        out.api(1_000, 5_000, "npudoctor.sync item train.py:21")
        out.api(1_000, 4_000, "ActNorm")
        out.api(1_000, 3_000, "aten::mul")
    trace = read(tmp_path / "a.db")
    kinds = {trace.names[n]: Kind(k) for k, n in zip(trace.columns.kind, trace.columns.name)}
    assert kinds == {
        "ProfilerStep#3": Kind.ANNOTATION,
        "env": Kind.ANNOTATION,
        "train.py(3): step": Kind.PYTHON,
        "npudoctor.sync item train.py:21": Kind.SYNC,
        "ActNorm": Kind.HOST_OP,
        "aten::mul": Kind.HOST_OP,
    }


def test_steps_of_the_table_where_no_mark_holds_them(tmp_path: Path) -> None:
    steps = "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
    for mark in (False, True):
        with Writer(tmp_path / f"{mark}.db", SCHEMA + steps) as out:
            out.task(1_000, 2_000, "AI_CORE", "Mul", "AI_CORE")
            out.row("STEP_TIME", id=7, startNs=0, endNs=5_000)
            if mark:
                out.api(0, 5_000, "ProfilerStep#7")
        analysis = analyse(read(tmp_path / f"{mark}.db"))
        assert [step.name for step in analysis.steps] == ["ProfilerStep#7"]


def test_an_older_table_without_the_later_columns(tmp_path: Path) -> None:
    old = """
    CREATE TABLE STRING_IDS (id INTEGER, value TEXT);
    CREATE TABLE PYTORCH_API (startNs INTEGER, endNs INTEGER, globalTid INTEGER, name INTEGER);
    """
    with Writer(tmp_path / "a.db", old) as out:
        out.row("PYTORCH_API", startNs=5, endNs=None, globalTid=1, name=out.text("aten::add"))
        out.row("PYTORCH_API", startNs=5_000, endNs=9_000, globalTid=1, name=out.text("aten::mul"))
    trace = read(tmp_path / "a.db")
    assert [trace.names[n] for n in trace.columns.name] == ["aten::mul"]
    assert trace.skipped == 1, "it never ended"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"SQLite format 3\0" + b"x" * 2000, "not a database"),
        (None, "it has none of the tables PYTORCH_API"),
    ],
)
def test_what_is_no_profile_is_refused(
    tmp_path: Path, run_cli: RunCli, content: bytes | None, words: str
) -> None:
    path = tmp_path / "a b?#%.db"
    if content is None:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE other (a)")
        connection.execute("CREATE VIEW PYTORCH_API AS SELECT 1 startNs, 2 endNs, 3 globalTid, 4 name")
        connection.close()
    else:
        path.write_bytes(content)
    result = run_cli("profile", str(path))
    assert result.returncode == 2
    assert words in result.stderr
    assert "is not a profiler database" in result.stderr
    with pytest.raises(UserError):
        read(path)


def test_a_damaged_end_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Writer(path) as out:
        for i in range(20_000):
            out.task(i * 1_000, i * 1_000 + 500, "AI_CORE", "Mul", "AI_CORE")
    whole = path.read_bytes()
    tree = (
        sqlite3.connect(path).execute("SELECT rootpage FROM sqlite_master WHERE name = 'TASK'").fetchone()[0]
    )
    assert tree < 10
    # The second quarter: pages of the table, behind the schema.
    path.write_bytes(whole[: len(whole) // 4] + b"\xff" * (len(whole) // 4) + whole[len(whole) // 2 :])
    try:
        trace = read(path)
    except UserError:
        pytest.fail("what comes before the damage is there")
    assert trace.cut
    assert 0 < len(trace.columns) < 20_000


def judged_or_refused(path: Path) -> None:
    try:
        trace = read(path)
    except UserError:
        return
    judge(analyse(trace))
    assert len(trace.columns)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_never_crashes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = as_database(tmp_path_factory.mktemp("d") / "a.db")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(16, len(content) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=40))
        content[at : at + len(piece)] = piece
    path.write_bytes(content)
    judged_or_refused(path)


cell = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=6), st.binary(max_size=4)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[cell] * 6), max_size=6), st.lists(st.tuples(*[cell] * 4), max_size=6))
def test_cells_of_any_kind_never_crash(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[Any], apis: list[Any]
) -> None:
    # No column types: SQLite keeps whatever it is given.
    schema = """
    CREATE TABLE STRING_IDS (id, value);
    CREATE TABLE TASK (startNs, endNs, deviceId, streamId, taskType, globalTaskId);
    CREATE TABLE CANN_API (startNs, endNs, globalTid, name);
    CREATE TABLE MEMCPY_INFO (globalTaskId, size);
    """
    path = tmp_path_factory.mktemp("c") / "a.db"
    with Writer(path, schema) as out:
        out.connection.executemany("INSERT INTO TASK VALUES (?, ?, ?, ?, ?, ?)", tasks)
        out.connection.executemany("INSERT INTO CANN_API VALUES (?, ?, ?, ?)", apis)
        out.connection.executemany("INSERT INTO MEMCPY_INFO VALUES (?, ?)", [(t[5], t[0]) for t in tasks])
    judged_or_refused(path)
