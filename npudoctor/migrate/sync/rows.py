"""Scalar reads in a row (a logging block): several blocking transfers where one would do."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.text import Text
from npudoctor.migrate.sync import hazards
from npudoctor.migrate.sync.alias import needs_clone
from npudoctor.migrate.sync.devices import Devices
from npudoctor.migrate.sync.forms import ScalarRead, indent_of, runs_once, scalar_reads
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

NOT_PROVED_CAUSE = Text(
    "it is not proved that at least two of the values are 0-dim floating tensors on one device that "
    "nothing changes "
    "in between",
    "无法证明其中至少两个值是位于同一设备、且其间不会被修改的零维浮点张量",
)
# Between a read and its statement: the read is evaluated for certain, and exactly once.
_CERTAIN = (
    ast.Call,
    ast.keyword,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Starred,
    ast.Attribute,
)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)


@dataclass(frozen=True)
class Row:
    """Reads in consecutive statements of one block.

    Attributes:
        first: the statement before which the joint transfer goes.
        reads: all reads of the row.
        joint: those that can share one transfer (two names or more), or empty.
    """

    first: ast.stmt
    reads: tuple[ScalarRead, ...]
    joint: tuple[ScalarRead, ...]


class Rows:
    """Every row of two or more scalar reads of one module."""

    def __init__(self, ctx: ModuleContext, values: Values, devices: Devices, taken: set[ast.AST]) -> None:
        self._ctx = ctx
        self._values = values
        self._devices = devices
        self._taken = taken

    def find(self) -> list[Row]:
        """Rows in source order. Reads that another rule moves are not part of any."""
        by_statement: dict[ast.stmt, list[ScalarRead]] = {}
        for node, read in scalar_reads(self._ctx).items():
            if node in self._taken or read.form != "item":
                continue
            if not runs_once(self._ctx, node, _CERTAIN, _SIMPLE):
                continue
            by_statement.setdefault(self._ctx.statement(node), []).append(read)
        found = []
        blocks = {id(block): block for block in map(self._ctx.block, by_statement)}
        for block in blocks.values():
            runs = (part for run in _runs(block, by_statement) for part in self._by_cell(run))
            found += [self._row(run, by_statement) for run in runs]
        rows = [row for row in found if len(row.reads) > 1]
        return sorted(rows, key=lambda row: self._ctx.span(row.first))

    def _by_cell(self, run: list[ast.stmt]) -> list[list[ast.stmt]]:
        """A run, cut where another cell begins: cells may be run again one by one."""
        parts: list[list[ast.stmt]] = []
        for statement in run:
            if parts and not hazards.other_cell(self._ctx, parts[-1][-1], statement):
                parts[-1].append(statement)
            else:
                parts.append([statement])
        return parts

    def _row(self, run: list[ast.stmt], reads: dict[ast.stmt, list[ScalarRead]]) -> Row:
        rebound: set[str] = set()
        every: list[ScalarRead] = []
        able: list[ScalarRead] = []
        for statement in run:
            for read in reads.get(statement, ()):
                every.append(read)
                if (
                    isinstance(read.value, ast.Name)
                    and read.value.id not in rebound
                    and self._is_plain(read.value)
                ):
                    able.append(read)
            names = self._ctx.within(statement, ast.Name)
            rebound |= {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        return Row(run[0], tuple(every), self._joint(run[0], able))

    def _is_plain(self, name: ast.Name) -> bool:
        value = self._values.of(name)
        scope = self._ctx.scope(name)
        return (
            value.tensor
            and value.dims == "0"
            and value.dtype == "float"
            and not self._values.odd_types
            and scope.find(name.id) is scope
            and not needs_clone(self._ctx, self._values, name)
        )

    def _joint(self, first: ast.stmt, able: list[ScalarRead]) -> tuple[ScalarRead, ...]:
        by_device: dict[str, list[ScalarRead]] = {}
        for read in able:
            device = self._devices.of(read.value)
            if device:
                by_device.setdefault(device, []).append(read)
        best = max(by_device.values(), key=len, default=[])
        if len({read.value.id for read in best}) < 2:  # type: ignore[attr-defined]
            return ()
        owner = self._ctx.scope(first).node
        unclear = (
            hazards.torch_name(self._ctx, first) is None
            or indent_of(self._ctx, first) is None
            or isinstance(owner, ast.ClassDef)
            or hazards.sees_names(self._ctx, owner)
            or hazards.of_order(self._ctx, owner, first) is not None
            or hazards.in_try(self._ctx, first)
        )
        return () if unclear else tuple(best)


def _runs(block: list[ast.stmt], reads: dict[ast.stmt, list[ScalarRead]]) -> list[list[ast.stmt]]:
    """Maximal runs of simple statements that begin and end with one that reads."""
    runs: list[list[ast.stmt]] = []
    current: list[ast.stmt] = []
    for statement in block:
        if isinstance(statement, _SIMPLE):
            if current or statement in reads:
                current.append(statement)
            continue
        runs.append(current)
        current = []
    runs.append(current)
    for run in runs:
        while run and run[-1] not in reads:
            run.pop()
    return [run for run in runs if run]
