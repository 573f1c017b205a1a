"""Rows of the profiler's CSV tables, whatever its version calls the columns.

Versions differ in spaces, underscores and capitals (`Device_id`, `Device ID`; `Communication(Not Overlapped)`
with and without a space), in the unit behind a name (`(us)`, `(μs)`), and torch_npu renames what CANN's own
table calls `Task Start Time(us)`. docs/profile.md lists the forms that were seen, and where.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# What the same thing is called in torch_npu's tables, CANN's own, and older ones.
NAME = ("name", "opname")
TYPE = ("type", "optype")
CORE = ("acceleratorcore", "accelerator", "tasktype", "coretype")
START = ("starttime", "taskstarttime")
DURATION = ("duration", "taskduration")
COUNT = ("count",)
TOTAL = ("totaltime", "time")

_UNIT = re.compile(r"\((ns|us|µs|μs|ms|s)\)$")
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6}
_LARGEST = 1e18


class Row:
    """One row by the plain names of its columns: small letters, no spaces, no underscores, no unit."""

    def __init__(self, cells: Mapping[str, tuple[str, float]]) -> None:
        self._cells = cells

    def text(self, names: tuple[str, ...], default: str = "") -> str:
        """The first of these columns that is there and not empty."""
        return next((self._cells[n][0] for n in names if n in self._cells and self._cells[n][0]), default)

    def number(self, *names: str) -> float | None:
        """The first of these columns as microseconds (or a plain number); None where it is not one."""
        for name in names:
            if name in self._cells:
                text, scale = self._cells[name]
                try:
                    value = float(text) * scale
                except ValueError:
                    return None
                return value if math.isfinite(value) and abs(value) < _LARGEST else None
        return None

    def time(self, names: tuple[str, ...]) -> str | float | None:
        """The first of these columns in microseconds, as text where that keeps every decimal."""
        for name in names:
            if name in self._cells:
                text, scale = self._cells[name]
                return text if scale == 1.0 else self.number(name)
        return None


def rows(path: Path) -> Iterator[Row]:
    """Rows of a CSV file; cells stripped of the tabs that keep spreadsheets from rounding."""
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        reader = csv.reader(line.replace("\0", "") for line in stream)
        try:
            columns = [_plain(name) for name in next(reader, [])]
            for cells in reader:
                yield Row({name: (cell.strip(), scale) for (name, scale), cell in zip(columns, cells)})
        except csv.Error:  # a field beyond the module's limit: what came before it was read
            return


def on_aicpu(core: str) -> bool:
    """Whether a core is the AI CPU: AI_CPU, AI CPU or AICPU."""
    return re.sub(r"[ _]", "", core).upper() == "AICPU"


def _plain(header: str) -> tuple[str, float]:
    header = header.strip().lower()
    unit = _UNIT.search(header)
    name = _UNIT.sub("", header)
    return re.sub(r"[ _]", "", name), _MICROSECONDS[unit.group(1)] if unit else 1.0
