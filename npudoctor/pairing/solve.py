"""Which complete sets fit the parts that are given: a pure resolver over the tables."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from packaging.version import Version

from npudoctor.pairing.chips import chip
from npudoctor.pairing.rows import ImageRow, PairRow
from npudoctor.pairing.table import WORKS, DriverRelation, Known, Relation, Tables
from npudoctor.pairing.versions import VendorVersion, base_release, package, public, vendor

T = TypeVar("T", Version, VendorVersion)

PARTS = ("torch", "torch_npu", "cann", "python", "driver")

# A driver that is newer than the listed ones, or not judged by any document, may be used;
# a documented "no" may not.
_REFUSED = frozenset({DriverRelation.INCOMPATIBLE, DriverRelation.TOO_OLD})
_SURE_DRIVER = frozenset({DriverRelation.PAIRED, DriverRelation.COMPATIBLE, DriverRelation.NEWER})


@dataclass(frozen=True)
class Query:
    """The parts that are given; None is free. Versions as text, already known to parse.

    `chip` is a key of `chips.tsv` and chooses the image; `near_python` is only a wish.
    """

    torch: str | None = None
    torch_npu: str | None = None
    cann: str | None = None
    python: str | None = None
    driver: str | None = None
    chip: str | None = None
    near_python: str | None = None

    def given(self) -> dict[str, str]:
        """The parts that constrain the answer, by name."""
        return {name: getattr(self, name) for name in PARTS if getattr(self, name) is not None}

    def without(self, *names: str) -> Query:
        """The same query with some parts free."""
        wish = self.python or self.near_python
        return replace(self, near_python=wish, **dict.fromkeys(names))


@dataclass(frozen=True)
class Candidate:
    """One complete set.

    Attributes:
        row: the torch_npu release, with torch and its Pythons.
        cann: the CANN version to install.
        relation: how well `cann` is documented for `row`.
        python: the Python to use.
        python_known: whether a table names it for this release.
        driver: how the given driver stands to `cann`; None when no driver is given.
        tier: 0 documented and released, rising with every reservation.
        image: a published CANN image, when one exists for chip and Python.
    """

    row: PairRow
    cann: VendorVersion
    relation: Relation
    python: str
    python_known: bool
    driver: DriverRelation | None
    tier: int
    image: ImageRow | None

    @property
    def exact(self) -> bool:
        """Whether documents pair this CANN with this release, not only the wider matrix."""
        return self.relation is not Relation.COMPATIBLE


@dataclass(frozen=True)
class Change:
    """The parts to let go so that a set exists, and the nearest such set."""

    parts: tuple[str, ...]
    candidate: Candidate


@dataclass(frozen=True)
class Solution:
    """The answer to a query.

    Attributes:
        candidates: sets that fit everything given, best first.
        conflicts: pairs of given parts that no set has together.
        changes: smallest changes that mend it, empty when an exact set exists.
        unknown: given parts that the table does not know at all.
        undocumented: releases that fit, but for which no document names any CANN.
    """

    query: Query
    candidates: tuple[Candidate, ...]
    conflicts: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    unknown: tuple[str, ...] = ()
    undocumented: tuple[PairRow, ...] = ()

    @property
    def verdict(self) -> str:
        """`fits`, `compatible-only`, `undocumented`, `unknown` or `no-set`."""
        if any(c.exact for c in self.candidates):
            return "fits"
        if self.undocumented:
            return "undocumented"
        if self.candidates:
            return "compatible-only"
        return "unknown" if self.unknown else "no-set"


def solve(tables: Tables, query: Query) -> Solution:
    """Every set that fits `query`; where none is documented, what conflicts and what mends it."""
    found = candidates(tables, query)
    unknown = _unknown(tables, query)
    if unknown:  # what nobody knows is in no set
        return Solution(query, (), unknown=unknown)
    if any(c.exact for c in found):
        return Solution(query, found)
    rows = tuple(_rows(tables, query))
    silent = () if any(row.cann_known for row in rows) else rows
    conflicts = () if silent else _conflicts(tables, query)
    return Solution(query, found, conflicts, _changes(tables, query), undocumented=silent)


def candidates(tables: Tables, query: Query) -> tuple[Candidate, ...]:
    """Complete sets for `query`, best first: fewest reservations, then newest."""
    best: dict[str, Candidate] = {}
    for row in _rows(tables, query):
        for option in _options(tables, row, query):
            held = best.get(row.torch_npu)
            if held is None or _rank(option) < _rank(held):
                best[row.torch_npu] = option
    return tuple(sorted(best.values(), key=_rank))


@functools.total_ordering
class _Newer:
    """Sort key wrapper: newer versions come first."""

    def __init__(self, version: object) -> None:
        self.version = version

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Newer) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    def __lt__(self, other: _Newer) -> bool:
        return bool(self.version > other.version)  # type: ignore[operator]


def _rank(candidate: Candidate) -> tuple:
    row = candidate.row
    unsure = candidate.driver is DriverRelation.OLDER_THAN_PAIRED
    order = (Relation.PAIRED, Relation.TESTED, Relation.SERIES, Relation.COMPATIBLE)
    return (
        # With a driver older than any documented one, the oldest CANN is the safest.
        candidate.tier, candidate.cann if unsure else vendor("0.0"),
        _Newer(package(row.torch)), _Newer(row.version),
        order.index(candidate.relation), candidate.cann.prerelease, _Newer(candidate.cann),
    )


def _rows(tables: Tables, query: Query) -> Iterator[PairRow]:
    for row in tables.pairs:
        if query.torch and package(row.torch) != public(query.torch):
            continue
        if query.torch_npu and row.version != public(query.torch_npu):
            continue
        if query.python and query.python not in (row.python or _near_pythons(tables, row)):
            continue
        yield row


def _near_pythons(tables: Tables, row: PairRow) -> tuple[str, ...]:
    """For a release whose Pythons no table names: those of the nearest torch release, as a bound only."""
    known = [other for other in tables.pairs if other.python]
    older = [other for other in known if package(other.torch) <= package(row.torch)]
    near = max(older, key=lambda other: package(other.torch), default=known[-1] if known else row)
    return near.python


def _options(tables: Tables, row: PairRow, query: Query) -> Iterator[Candidate]:
    for cann in known_canns(tables) if query.cann is None else _named_canns(tables, query.cann):
        relation = tables.relation(row, cann)
        if relation not in WORKS:
            continue
        if not _has_operators(query.chip, cann):
            continue
        if cann.prerelease and query.cann is None and str(cann) not in row.cann:
            continue  # an alpha or beta is only offered where a document names that very one
        driver = tables.driver_relation(cann, query.driver) if query.driver else None
        if driver in _REFUSED:
            continue
        python = query.python or _python(tables, row, query.near_python)
        image = _image(tables, cann, query.chip, python)
        known = python in row.python
        tier = _tier(row, cann, relation, driver, known, query)
        yield Candidate(row, cann, relation, python, known, driver, tier, image)


def _tier(
    row: PairRow, cann: VendorVersion, relation: Relation, driver: DriverRelation | None,
    python_known: bool, query: Query,
) -> int:
    """Count the reservations; what the user asked for by name is not held against a set."""
    asked = query.torch_npu is not None
    return (
        (relation is Relation.COMPATIBLE) * 4
        + (relation in (Relation.SERIES, Relation.TESTED)) * 1
        + (driver is not None and driver not in _SURE_DRIVER) * 4
        + (row.provenance.confidence == "low") * 3
        + (row.provenance.confidence == "medium" and not asked) * 1
        + (not row.on_index and not asked) * 3
        + (row.version.is_prerelease and not asked) * 3
        + (cann.prerelease and query.cann is None) * 3
        + (not python_known) * 2
    )


@functools.lru_cache(maxsize=8)
def known_canns(tables: Tables) -> tuple[VendorVersion, ...]:
    """Every CANN release that any table names, newest first."""
    names = [c for row in tables.pairs for c in (*row.cann, *row.cann_tested) if not c.endswith("X")]
    names += [row.cann for row in tables.drivers] + [row.cann for row in tables.images]
    return tuple(sorted({vendor(name) for name in names}, reverse=True))


def _has_operators(key: str | None, cann: VendorVersion) -> bool:
    """Whether a CANN release has an operator package for a chip: newer chips have none up to 8.3."""
    family = chip(key) if key else None
    return family is None or bool(family.kernels_package) or cann.line >= (8, 5)


@functools.lru_cache(maxsize=64)
def _named_canns(tables: Tables, name: str) -> tuple[VendorVersion, ...]:
    """What a CANN name means: `8.3` names a line, and so its releases, where no release is called so."""
    found = vendor(name)
    known = known_canns(tables)
    line = tuple(c for c in known if c.line == found.line and not c.prerelease)
    is_line = name.count(".") == 1 and found.rc is None and not found.stage
    if not is_line or not line:
        return (found,)
    return tuple(c for c in line if c == found) or line


def _python(tables: Tables, row: PairRow, wish: str | None) -> str:
    """The Python nearest to the wish; without one, the Python most images are built with."""
    if not row.python:
        return ""
    wanted = package(wish or usual_python(tables)).minor
    return min(row.python, key=lambda p: abs(package(p).minor - wanted))


@functools.lru_cache(maxsize=8)
def usual_python(tables: Tables) -> str:
    """The Python that most published CANN images carry."""
    counts = Counter(p for image in tables.images for p in image.python)
    return counts.most_common(1)[0][0]


def _image(tables: Tables, cann: VendorVersion, chip: str | None, python: str) -> ImageRow | None:
    found = tables.images_for(str(cann), chip, python or None)
    return next((i for i in found if i.os.startswith("ubuntu")), found[0] if found else None)


# --- when nothing fits -----------------------------------------------------------------


def _unknown(tables: Tables, query: Query) -> tuple[str, ...]:
    """Given versions that no row of any table mentions."""
    missing = []
    if query.torch_npu and not isinstance(tables.row_for_torch_npu(query.torch_npu), Known):
        missing.append("torch_npu")
    newest = package(tables.pairs[0].torch)
    if query.torch and not tables.rows_for_torch(query.torch) and public(query.torch) > newest:
        missing.append("torch")
    if query.cann and not any(
        tables.relation(row, query.cann) in WORKS for row in tables.pairs
    ) and vendor(query.cann) > known_canns(tables)[0]:
        missing.append("cann")
    if query.python and not any(query.python in row.python for row in tables.pairs):
        missing.append("python")
    return tuple(missing)


def _exact(tables: Tables, query: Query) -> tuple[Candidate, ...]:
    return tuple(c for c in candidates(tables, query) if c.exact)


def _conflicts(tables: Tables, query: Query) -> tuple[tuple[str, str], ...]:
    """Pairs of given parts that no documented set has together, and single parts without a set."""
    names = tuple(query.given())
    alone = [n for n in names if not _exact(tables, query.without(*(m for m in names if m != n)))]
    pairs = [
        (a, b)
        for i, a in enumerate(names) for b in names[i + 1:]
        if a not in alone and b not in alone
        and not _exact(tables, query.without(*(m for m in names if m not in (a, b))))
    ]
    return tuple([(n, n) for n in alone] + pairs)


def _changes(tables: Tables, query: Query) -> tuple[Change, ...]:
    """For each smallest group of parts to let go: the nearest documented set."""
    units = _units(query)
    for size in (1, 2, len(units)):
        found = []
        for chosen in combinations(units, min(size, len(units))):
            parts = tuple(name for unit in chosen for name in unit)
            options = _exact(tables, query.without(*parts))
            if options:
                nearest = min(options, key=functools.partial(_distance, tables, query, parts))
                found.append(Change(parts, nearest))
        if found:
            return tuple(sorted(found, key=lambda c: PARTS.index(c.parts[0])))
    return ()


def _units(query: Query) -> list[tuple[str, ...]]:
    """What is changed together: torch and torch_npu, as long as the two agree."""
    given = query.given()
    if query.torch and query.torch_npu and base_release(query.torch) == base_release(query.torch_npu):
        rest = [(name,) for name in given if name not in ("torch", "torch_npu")]
        return [("torch", "torch_npu"), *rest]
    return [(name,) for name in given]


def _distance(tables: Tables, query: Query, parts: tuple[str, ...], candidate: Candidate) -> tuple:
    """How far a set is from what was asked: reservations, then steps per changed part."""
    steps = 0
    asked_torch = query.torch or query.torch_npu
    if asked_torch and {"torch", "torch_npu"} & set(parts):
        known = sorted({package(row.torch) for row in tables.pairs})
        steps += _between(known, base_release(asked_torch), package(candidate.row.torch))
    if query.cann and "cann" in parts:
        finals = sorted(c for c in known_canns(tables) if not c.prerelease)
        steps += _between(finals, vendor(query.cann), candidate.cann)
    if query.python and "python" in parts and candidate.python:
        steps += abs(package(candidate.python).minor - package(query.python).minor)
    return (min(candidate.tier, 3), steps, _rank(candidate))


def _between(ordered: Sequence[T], a: T, b: T) -> int:
    """Steps from `a` to `b` in an ordered list; leaving the major.minor line is one more."""
    low, high = (a, b) if a <= b else (b, a)
    return sum(low < item < high for item in ordered) + (a != b) + (_line(a) != _line(b))


def _line(version: Version | VendorVersion) -> tuple[int, ...]:
    return version.line if isinstance(version, VendorVersion) else version.release[:2]
