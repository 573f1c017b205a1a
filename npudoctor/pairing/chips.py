"""Chip names as tools print them, mapped to the keys that packages and images use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from npudoctor import tables
from npudoctor.pairing.rows import Provenance, provenance


@dataclass(frozen=True)
class Chip:
    """One chip family.

    Attributes:
        key: name in image tags and package names: `910`, `910b`, `a3`, `310p`, `950`.
        names: names that `npu-smi` and users write, upper case.
        family: name for people.
        kernels_package: operator package up to CANN 8.3; empty where none existed.
        ops_package: operator package from CANN 8.5 on.
        kernel_dir: folder of compiled kernels inside the operator package.
        bfloat16: whether it computes in bfloat16; None where no source says.
    """

    key: str
    names: tuple[str, ...]
    family: str
    kernels_package: str
    ops_package: str
    kernel_dir: str
    bfloat16: bool | None
    source: Provenance


@functools.lru_cache(maxsize=1)
def all_chips() -> tuple[Chip, ...]:
    """Every chip family of `chips.tsv`."""
    return tuple(
        Chip(
            r["key"], tuple(r["names"].upper().split(",")), r["family"], r["kernels_package"],
            r["ops_package"], r["kernel_dir"], {"yes": True, "no": False}.get(r["bfloat16"]),
            provenance(r),
        )
        for r in tables.load("chips").rows
    )


def chip(name: str) -> Chip | None:
    """The family of a chip name (`910B3`, `Ascend910_9382`, `310P`, `a3`), None if unknown."""
    wanted = name.strip().upper().replace("ASCEND", "").strip(" -_")
    for family in all_chips():
        if wanted == family.key.upper() or wanted in family.names:
            return family
    # A newer stepping of a known family: the longest known name it starts with.
    known = [(n, c) for c in all_chips() for n in c.names if len(n) >= 4 and wanted.startswith(n)]
    return max(known, key=lambda pair: len(pair[0]))[1] if known else None
