"""The pairing tables and the questions they answer.

Every answer is `Known` with the row it rests on, or `Unknown` with the date of the table
that does not know. Nothing here guesses, and nothing here touches the machine.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, Union

from npudoctor import tables
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.pairing import rows
from npudoctor.pairing.rows import DriverRow, ImageRow, PairRow, Provenance
from npudoctor.pairing.versions import (
    BadVersion,
    VendorVersion,
    fits,
    is_950_line,
    normal_python,
    package,
    public,
    same_release,
    same_series,
    vendor,
)

T = TypeVar("T")

_YES_NO = ("yes", "no", "")
_WORDS = {
    "confidence": ("high", "medium", "low"),
    "on_index": _YES_NO, "numpy_listed": _YES_NO, "conflict": _YES_NO,
}
_BAD_ROW = Text("table {table}, row {row}: {reason}", "数据表 {table} 的行 {row}：{reason}")


@dataclass(frozen=True)
class Known(Generic[T]):
    """An answer and where it comes from."""

    value: T
    source: Provenance


@dataclass(frozen=True)
class Unknown:
    """The table of `date` says nothing about `subject`: not wrong, only unknown."""

    subject: str
    date: str

    @property
    def value(self) -> None:
        """Always None, so that callers may write `answer.value or ...`."""
        return None


Answer = Union[Known[T], Unknown]


@enum.unique
class Relation(enum.Enum):
    """How a CANN version stands to a torch_npu release."""

    PAIRED = "paired"  # a document names this CANN for this package
    SERIES = "series"  # a patch release of a named one, or of the product's line
    TESTED = "tested"  # another project documents running both
    COMPATIBLE = "compatible"  # the vendor's wider product matrix allows it
    OUTSIDE = "outside"  # documents name other CANN versions and not this one
    UNKNOWN = "unknown"  # no document names any CANN for this package


WORKS = frozenset({Relation.PAIRED, Relation.SERIES, Relation.TESTED, Relation.COMPATIBLE})


@enum.unique
class DriverRelation(enum.Enum):
    """How a driver stands to a CANN release."""

    PAIRED = "paired"  # named as matching
    COMPATIBLE = "compatible"  # an explicit matrix allows it
    NEWER = "newer"  # newer than every listed driver; drivers carry older CANN as a rule
    INCOMPATIBLE = "incompatible"  # an explicit matrix forbids it
    TOO_OLD = "too-old"  # older than the lowest driver of an explicit list
    OLDER_THAN_PAIRED = "older-than-paired"  # older than the paired one; no minimum is documented
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class DriverMinimum:
    """Lowest driver for a CANN release: `version` as listed, e.g. `25.2.X` or `24.1.RC2`.

    `strict` is True when an explicit compatibility list states it; otherwise `version` is
    only the paired driver, below which nothing is documented either way.
    """

    version: str
    strict: bool
    strength: str


class Tables:
    """All pairing tables, shipped rows overlaid with a site's own.

    Args:
        overlay: a TSV table with (some of) the columns of `pairing.tsv`; its rows replace
            shipped rows of the same torch_npu version.

    Raises:
        npudoctor.core.errors.UserError: the overlay is malformed.
    """

    def __init__(self, overlay: Path | None = None) -> None:
        base = tables.load("pairing")
        if overlay is not None:
            base = tables.overlay(base, site_table(overlay), ("torch_npu",))
        drivers, images = tables.load("cann_driver"), tables.load("images")
        matrix = tables.load("product_cann")
        pairs = (_checked(r, base.name) for r in base.rows)
        self.pairs = sorted(pairs, key=lambda r: r.version, reverse=True)
        self.drivers = [rows.driver_row(r) for r in drivers.rows]
        self.images = [rows.image_row(r) for r in images.rows]
        self.matrix = [
            (r["product"], tuple(r["cann"].split(",")), rows.provenance(r)) for r in matrix.rows
        ]
        self.dates = {t.name: t.date for t in (base, drivers, images, matrix)}
        self.date = base.date
        self.driver_date = drivers.date
        self._by_version = {row.torch_npu: row for row in self.pairs}
        self._relations: dict[tuple[str, VendorVersion], Relation] = {}

    # --- torch_npu -------------------------------------------------------------------

    def row_for_torch_npu(self, version: str) -> Answer[PairRow]:
        """The row of a torch_npu version; `+git...` is ignored. Raises ValueError on nonsense."""
        row = self._by_version.get(str(public(version)))
        return Known(row, row.provenance) if row else Unknown(f"torch_npu {version}", self.date)

    def rows_for_torch(self, version: str) -> list[PairRow]:
        """Rows built for this torch release (`2.7.1`, `2.7.1+cpu`), newest first."""
        wanted = public(version)
        return [row for row in self.pairs if package(row.torch) == wanted]

    def python_for(self, torch_npu: str) -> Answer[tuple[str, ...]]:
        """Minor Python versions a torch_npu release supports."""
        answer = self.row_for_torch_npu(torch_npu)
        if isinstance(answer, Unknown) or not answer.value.python:
            return Unknown(f"Python of torch_npu {torch_npu}", self.date)
        return Known(answer.value.python, answer.source)

    def relation(self, row: PairRow, cann: str | VendorVersion) -> Relation:
        """How `cann` stands to the release of `row`."""
        found = vendor(cann) if isinstance(cann, str) else cann
        key = row.torch_npu, found
        if key not in self._relations:
            self._relations[key] = self._judge(row, found)
        return self._relations[key]

    def _judge(self, row: PairRow, found: VendorVersion) -> Relation:
        if any(fits(named, found) for named in row.cann):
            return Relation.PAIRED
        if any(same_release(named, found) for named in row.cann_tested):
            return Relation.TESTED
        named = [c for c in (*row.cann, row.cann_line) if c]
        if any(_in_series(cell, found) for cell in named):
            return Relation.SERIES
        if any(_in_series(cell, found) for cell in self.product_cann(row.product)):
            return Relation.COMPATIBLE
        return Relation.OUTSIDE if named else Relation.UNKNOWN

    def product_cann(self, product: str) -> list[str]:
        """CANN cells of the vendor's product matrix for `7.3.0`, `26.1.1`, ...; may be empty."""
        parts = product.split(".")
        cells: list[str] = []
        for name, cann, _ in self.matrix:
            wanted = name.split(".")
            if product and parts[: len(wanted)] == wanted:
                cells.extend(cann)
        return cells

    # --- CANN and driver -------------------------------------------------------------

    def driver_row(self, cann: str | VendorVersion) -> Answer[DriverRow]:
        """The row of a CANN release, or of the nearest named release of its series."""
        found = vendor(cann) if isinstance(cann, str) else cann
        exact = [r for r in self.drivers if same_release(r.cann, found)]
        series = [r for r in self.drivers if same_series(r.cann, found)]
        final = [r for r in series if not vendor(r.cann).prerelease]
        for candidates in (exact, final, series):
            if candidates:
                best = max(candidates, key=lambda r: (vendor(r.cann) <= found, vendor(r.cann)))
                return Known(best, best.provenance)
        return Unknown(f"driver of CANN {found}", self.driver_date)

    def driver_minimum(self, cann: str | VendorVersion) -> Answer[DriverMinimum]:
        """Lowest driver known to carry a CANN release (A2/A3/310P numbering)."""
        answer = self.driver_row(cann)
        if isinstance(answer, Unknown):
            return answer
        row = answer.value
        listed = _numbered(row.compatible) or _numbered(row.paired)
        if not listed:
            return Unknown(f"driver of CANN {cann}", self.driver_date)
        lowest = min(listed, key=_floor)
        return Known(DriverMinimum(lowest, bool(row.compatible), row.strength), answer.source)

    def driver_relation(self, cann: str | VendorVersion, driver: str | VendorVersion) -> DriverRelation:
        """How a driver stands to a CANN release, by the table alone.

        The compatibility ranges that driver and CANN files declare themselves come first;
        ask this only where they are silent.
        """
        answer = self.driver_row(cann)
        if isinstance(answer, Unknown):
            return DriverRelation.UNKNOWN
        row, found = answer.value, vendor(driver) if isinstance(driver, str) else driver
        if any(fits(cell, found) for cell in row.incompatible):
            return DriverRelation.INCOMPATIBLE
        if any(fits(cell, found) for cell in row.paired):
            return DriverRelation.PAIRED
        if any(fits(cell, found) for cell in row.compatible):
            return DriverRelation.COMPATIBLE
        listed = _numbered((*row.paired, *row.compatible))
        if is_950_line(found) or not listed or found.line < (20, 0):
            return DriverRelation.UNKNOWN  # numbered on their own, never compared with A2/A3 drivers
        if found > max(_floor(cell) for cell in listed):
            return DriverRelation.NEWER
        if found < min(_floor(cell) for cell in listed):
            refused = row.compatible or self._refused_by_older(vendor(row.cann), found)
            return DriverRelation.TOO_OLD if refused else DriverRelation.OLDER_THAN_PAIRED
        return DriverRelation.UNKNOWN

    def _refused_by_older(self, cann: VendorVersion, driver: VendorVersion) -> bool:
        """Whether an older CANN already documents a minimum above `driver`: needs only grow."""
        for row in self.drivers:
            listed = _numbered(row.compatible)
            if listed and vendor(row.cann) < cann and driver < min(map(_floor, listed)):
                return True
        return False

    def cann_for_driver(self, driver: str | VendorVersion) -> list[DriverRow]:
        """CANN releases that this driver carries by an explicit cell, newest first."""
        good = {DriverRelation.PAIRED, DriverRelation.COMPATIBLE}
        return [r for r in self.drivers if self.driver_relation(r.cann, driver) in good]

    # --- images ----------------------------------------------------------------------

    def images_for(self, cann: str, chip: str | None = None, python: str | None = None) -> list[ImageRow]:
        """Published CANN images of this release for a chip key (`910b`) and Python."""
        return [
            row for row in self.images
            if same_release(row.cann, cann)
            and (chip is None or chip in row.chips)
            and (python is None or python in row.python)
        ]


@functools.lru_cache(maxsize=4)
def load(overlay: Path | None = None) -> Tables:
    """The tables, read once."""
    return Tables(overlay)


def site_table(path: Path) -> tables.Table:
    """A site's own rows; provenance columns may be left out and are filled in."""
    extra = tables.read(path)
    filled = {
        "source_url": path.absolute().as_uri(), "source_kind": "site",
        "seen_on": extra.date, "confidence": "high", "on_index": "yes",
    }
    complete = tuple({**{k: v for k, v in filled.items() if not row.get(k)}, **{
        k: v for k, v in row.items() if v or k not in filled
    }} for row in extra.rows)
    columns = tuple(dict.fromkeys((*extra.columns, *filled)))
    return tables.Table(extra.name, extra.date, columns, complete)


def _checked(cells: Mapping[str, str], name: str) -> PairRow:
    try:
        for cell in ",".join((cells["cann"], cells["cann_line"], cells["cann_tested"])).split(","):
            if cell.strip():
                _floor(cell.strip())
        for cell in filter(None, map(str.strip, cells["python"].split(","))):
            if normal_python(cell) != cell:
                raise BadVersion("Python (major.minor)", cell)
        for column, allowed in _WORDS.items():
            if cells[column] not in allowed:
                words = ", ".join(filter(None, allowed))
                raise ValueError(f"{column} is {cells[column]!r}, not one of {words}")
        return rows.pair_row(cells)
    except ValueError as error:
        params = {"table": name, "row": cells["torch_npu"], "reason": error}
        raise UserError(_BAD_ROW, params=params) from None


def _in_series(cell: str, found: VendorVersion) -> bool:
    return fits(cell, found) if cell.endswith("X") else same_series(cell, found)


def _numbered(cells: tuple[str, ...]) -> list[str]:
    """Cells in the A2/A3/310P driver numbering (20 and up, not an Ascend 950 line)."""
    floors = {cell: _floor(cell) for cell in cells}
    return [cell for cell, low in floors.items() if low.line >= (20, 0) and not is_950_line(low)]


def _floor(cell: str) -> VendorVersion:
    """The lowest version a cell names; a line `25.2.X` starts with its first RC."""
    return vendor(cell[:-2] + ".RC0") if cell.endswith(".X") else vendor(cell)
