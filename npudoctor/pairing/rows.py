"""Typed rows of the pairing tables. Cells become versions once, here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from npudoctor.pairing.versions import package, public


@dataclass(frozen=True)
class Provenance:
    """Where a row comes from and how far to trust it (`high`, `medium`, `low`)."""

    url: str
    kind: str
    seen_on: str
    confidence: str
    more: tuple[str, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """Every address of the row, the main one first."""
        return (self.url, *self.more)


@dataclass(frozen=True)
class PairRow:
    """One torch_npu release and what belongs to it.

    Attributes:
        torch_npu: version without local part, e.g. `2.7.1.post2`.
        torch: the torch release it is built for, e.g. `2.7.1`.
        cann: CANN versions (or lines, `9.1.X`) that a document names for this package.
        cann_line: CANN release or line derived from the product number only.
        cann_tested: CANN versions that another project documents as run with it.
        python: minor Python versions; empty when no table names them.
        product: vendor product number (`7.3.0`), empty when unknown.
        tag: release tag in the vendor's repository.
        branch: release branch.
        on_index: whether pip can install it from the package index.
        numpy_listed: whether the wheel asks for numpy itself; None when not read.
        conflict: sources contradict each other; see note.
        note: remark in English and Chinese.
    """

    torch_npu: str
    torch: str
    cann: tuple[str, ...]
    cann_line: str
    cann_tested: tuple[str, ...]
    python: tuple[str, ...]
    product: str
    tag: str
    branch: str
    on_index: bool
    numpy_listed: bool | None
    conflict: bool
    note: Mapping[str, str]
    provenance: Provenance

    @property
    def version(self) -> Version:
        """`torch_npu` as a comparable version."""
        return package(self.torch_npu)

    @property
    def cann_known(self) -> bool:
        """Whether anything at all is known about its CANN."""
        return bool(self.cann or self.cann_line or self.cann_tested)


@dataclass(frozen=True)
class DriverRow:
    """One CANN release and the drivers (HDK) it works with.

    Attributes:
        cann: CANN version.
        paired: driver versions the vendor names as matching (tested together).
        compatible: drivers and lines (`25.2.X`) an explicit matrix allows.
        incompatible: drivers and lines an explicit matrix forbids.
        strength: `official` (yes/no matrix), `paired-only` (official, but only the paired
            drivers are named), `vendor-tool`, `secondary` (other vendor documents), `weak`.
    """

    cann: str
    paired: tuple[str, ...]
    compatible: tuple[str, ...]
    incompatible: tuple[str, ...]
    strength: str
    conflict: bool
    note: Mapping[str, str]
    provenance: Provenance


@dataclass(frozen=True)
class ImageRow:
    """A published CANN image: tag `<tag>-<chip>-<os>-py<python>` for each chip and Python."""

    cann: str
    tag: str
    chips: tuple[str, ...]
    os: str
    python: tuple[str, ...]
    provenance: Provenance


def pair_row(cells: Mapping[str, str]) -> PairRow:
    """A row of `pairing.tsv`.

    Raises:
        ValueError: a version cell is malformed.
    """
    numpy = cells["numpy_listed"]
    return PairRow(
        torch_npu=str(public(cells["torch_npu"])),
        torch=str(public(cells["torch"])),
        cann=_list(cells["cann"]),
        cann_line=cells["cann_line"],
        cann_tested=_list(cells["cann_tested"]),
        python=_list(cells["python"]),
        product=cells["product"],
        tag=cells["tag"],
        branch=cells["branch"],
        on_index=cells["on_index"] == "yes",
        numpy_listed=None if not numpy else numpy == "yes",
        conflict=cells["conflict"] == "yes",
        note=_note(cells),
        provenance=provenance(cells),
    )


def driver_row(cells: Mapping[str, str]) -> DriverRow:
    """A row of `cann_driver.tsv`."""
    return DriverRow(
        cann=cells["cann"],
        paired=_list(cells["paired"]),
        compatible=_list(cells["compatible"]),
        incompatible=_list(cells["incompatible"]),
        strength=cells["strength"],
        conflict=cells["conflict"] == "yes",
        note=_note(cells),
        provenance=provenance(cells),
    )


def image_row(cells: Mapping[str, str]) -> ImageRow:
    """A row of `images.tsv`."""
    return ImageRow(
        cells["cann"], cells["tag"], _list(cells["chips"]), cells["os"], _list(cells["python"]),
        provenance(cells),
    )


def provenance(cells: Mapping[str, str]) -> Provenance:
    """The last columns of any table row."""
    return Provenance(
        cells["source_url"], cells["source_kind"], cells["seen_on"], cells["confidence"],
        tuple(cells.get("more_sources", "").split()),
    )


def _list(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(",") if part.strip())


def _note(cells: Mapping[str, str]) -> Mapping[str, str]:
    return {"en": cells["note"], "zh": cells["note_zh"] or cells["note"]}
