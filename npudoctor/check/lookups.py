"""Questions to the small tables that several checks share: chips, Python needs, variables."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from npudoctor import tables
from npudoctor.machine.facts import CannInstall, Chip


@functools.lru_cache(maxsize=256)
def chip_row(name: str) -> Mapping[str, str] | None:
    """The row of `chips.tsv` for a name that npu-smi prints (`910B3`, `310P3`), None when unknown."""
    for row in tables.load("chips").rows:
        if re.fullmatch(row["smi_pattern"], name):
            return row
    return None


def chip_rows(chips: tuple[Chip, ...]) -> dict[str, Mapping[str, str]]:
    """Chip name -> row, for the names that the table knows."""
    found = {chip.name: chip_row(chip.name) for chip in chips}
    return {name: row for name, row in found.items() if row is not None}


def ops_package(row: Mapping[str, str], install: CannInstall) -> str:
    """Name of the package that holds the operators of a chip for this CANN generation."""
    from npudoctor.pairing.versions import vendor

    try:
        new = vendor(install.version).line >= (8, 5)
    except ValueError:
        new = install.layout == "cann"
    return row["ops_package"] if new or not row["kernels_package"] else row["kernels_package"]


def needs(level: str) -> tuple[str, ...]:
    """Names of the Python packages that CANN needs at run time: `required` or only `listed`."""
    return tuple(r["package"] for r in tables.load("python_needs").rows if r["level"] == level)


def package_names() -> tuple[str, ...]:
    """Every distribution whose metadata the checks want to see."""
    stack = (
        "torch",
        "torch-npu",
        "torchvision",
        "torchaudio",
        "triton",
        "triton-ascend",
        "ray",
        "vllm",
        "vllm-ascend",
        "te",
    )
    return tuple(sorted({*stack, *needs("required"), *needs("listed")}))


def variables(role: str) -> tuple[Mapping[str, str], ...]:
    """Rows of `env_vars.tsv` of one role (`debug`, `leftover`)."""
    return tuple(r for r in tables.load("env_vars").rows if r["role"] == role)


def python_limit(name: str) -> Mapping[str, str]:
    """The row of a package in `python_needs.tsv`."""
    return next(r for r in tables.load("python_needs").rows if r["package"] == name)
