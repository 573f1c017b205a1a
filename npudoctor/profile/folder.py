"""The small tables of a torch_npu profiler folder: its own step trace and operator statistics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npudoctor.profile.readers import csv_rows, find


@dataclass(frozen=True)
class Statistics:
    """What torch_npu's profiler summed up itself; microseconds.

    Attributes:
        steps: per row of step_trace_time.csv: computing, communication (not overlapped), free.
        operators: per row of op_statistic.csv: (type, core type, count, total).
    """

    steps: tuple[tuple[float, float, float], ...] = ()
    operators: tuple[tuple[str, str, int, float], ...] = ()

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "steps": [dict(zip(("computing_us", "communication_us", "free_us"), s)) for s in self.steps],
            "operators": [dict(zip(("type", "core", "count", "total_us"), o)) for o in self.operators],
        }


def statistics(path: Path) -> Statistics:
    """Read both tables where `path` is a folder that has them; rows that do not parse are left out."""
    if not path.is_dir():
        return Statistics()
    steps = find(path, "step_trace_time.csv")
    operators = find(path, "op_statistic.csv")
    return Statistics(_steps(steps) if steps else (), _operators(operators) if operators else ())


def _steps(path: Path) -> tuple[tuple[float, float, float], ...]:
    found = []
    for row in csv_rows(path):
        try:
            found.append(
                (
                    float(row["Computing"]),
                    float(row["Communication(Not Overlapped)"]),
                    float(row["Free"]),
                )
            )
        except (KeyError, ValueError):
            continue
    return tuple(found)


def _operators(path: Path) -> tuple[tuple[str, str, int, float], ...]:
    found = []
    for row in csv_rows(path):
        try:
            count, total = int(float(row["Count"])), float(row["Total Time(us)"])
        except (KeyError, ValueError, OverflowError):
            continue
        found.append((row.get("OP Type", "?"), row.get("Core Type", ""), count, total))
    return tuple(sorted(found, key=lambda o: -o[3]))
