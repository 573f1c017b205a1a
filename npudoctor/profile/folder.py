"""The small tables of a profiler folder: what torch_npu or CANN summed up itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ijson

from npudoctor.profile import cells
from npudoctor.profile.places import find

_COMPUTING, _FREE = ("computing",), ("free",)
_COMMUNICATION = ("communication(notoverlapped)",)
_LEVEL, _API = ("level",), ("apiname", "name")
# Keys below "Communication Time Info" of communication.json, and what they are called here.
_TIMES = {"Elapse Time(ms)": "elapsed", "Transit Time(ms)": "transit", "Wait Time(ms)": "wait"}
_TOTAL = "Total Op Info"


@dataclass(frozen=True)
class Communication:
    """Sums over the collectives and point-to-point calls of communication.json; microseconds."""

    calls: int
    elapsed: float
    transit: float
    wait: float


@dataclass(frozen=True)
class Statistics:
    """What the profiler summed up itself; microseconds.

    Attributes:
        steps: per row of step_trace_time.csv: computing, communication (not overlapped), free.
        operators: per row of op_statistic.csv: (type, core type, count, total), longest first.
        apis: per row of api_statistic.csv: (level, name, count, total), longest first. Levels
            nest: a call of the operator layer holds those of the runtime below it.
        communication: None where there was none, or one device alone.
    """

    steps: tuple[tuple[float, float, float], ...] = ()
    operators: tuple[tuple[str, str, int, float], ...] = ()
    apis: tuple[tuple[str, str, int, float], ...] = ()
    communication: Communication | None = None

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        talk = self.communication
        return {
            "steps": [dict(zip(("computing_us", "communication_us", "free_us"), s)) for s in self.steps],
            "operators": [dict(zip(("type", "core", "count", "total_us"), o)) for o in self.operators],
            "apis": [dict(zip(("level", "name", "count", "total_us"), a)) for a in self.apis],
            "communication": None
            if talk is None
            else {
                "calls": talk.calls,
                "elapsed_us": talk.elapsed,
                "transit_us": talk.transit,
                "wait_us": talk.wait,
            },
        }


def statistics(path: Path) -> Statistics:
    """Read the tables where `path` is a folder that has them; rows that do not parse are left out."""
    if not path.is_dir():
        return Statistics()
    steps, operators, apis = (find(path, what) for what in ("steps", "operators", "apis"))
    talk = find(path, "communication")
    return Statistics(
        tuple(_steps(steps)) if steps else (),
        _longest_first(operators, cells.TYPE, cells.CORE) if operators else (),
        _longest_first(apis, _LEVEL, _API) if apis else (),
        _communication(talk) if talk else None,
    )


def _steps(path: Path) -> Iterator[tuple[float, float, float]]:
    for row in cells.rows(path):
        computing, communication = row.number(*_COMPUTING), row.number(*_COMMUNICATION)
        free = row.number(*_FREE)
        if computing is not None and communication is not None and free is not None:
            yield computing, communication, free


def _longest_first(
    path: Path, first: tuple[str, ...], second: tuple[str, ...]
) -> tuple[tuple[str, str, int, float], ...]:
    found = []
    for row in cells.rows(path):
        count, total = row.number(*cells.COUNT), row.number(*cells.TOTAL)
        if count is not None and total is not None:
            found.append((row.text(first, "?"), row.text(second), int(count), total))
    return tuple(sorted(found, key=lambda entry: -entry[3]))


def _communication(path: Path) -> Communication | None:
    """Streamed: on a cluster the file is large. The totals that it holds itself are not counted again."""
    sums, calls = dict.fromkeys(_TIMES.values(), 0.0), 0
    try:
        with open(path, "rb") as stream:
            for prefix, kind, value in ijson.parse(stream, use_float=True):
                key = _TIMES.get(prefix.rpartition(".")[2]) if kind == "number" else None
                if key is None or ".Communication Time Info." not in prefix or _TOTAL in prefix:
                    continue
                sums[key] += 1e3 * float(value)
                calls += key == "elapsed"
    except (OSError, ValueError, ijson.JSONError):
        pass  # a file that ends too early: what was read counts
    return Communication(calls, **sums) if calls else None
