"""Questions to the small tables that several checks share: chips, Python needs, variables."""

from __future__ import annotations

from collections.abc import Mapping

from npudoctor import tables
from npudoctor.machine.facts import CannInstall, Chip
from npudoctor.pairing.chips import Chip as Family
from npudoctor.pairing.seen import family_of
from npudoctor.pairing.versions import vendor

# A pattern: libraries of the CANN toolkit; those of the driver and of NNAL have checks of their own.
TOOLKIT_LIBRARY = (
    r"lib(?:hccl|ascendcl|acl_op_compiler|ge_runner|graph|runtime|acl_tdt_channel|msprofiler|opapi)\.so"
)


def families(chips: tuple[Chip, ...]) -> dict[str, Family]:
    """Chip name -> family, for the names that tell one."""
    found = {chip.name: family_of(chip) for chip in chips}
    return {name: family for name, family in found.items() if family is not None}


def ops_package(family: Family, install: CannInstall) -> str:
    """Name of the package that holds the operators of a chip for this CANN generation."""
    try:
        new = vendor(install.version).line >= (8, 5)
    except ValueError:
        new = install.layout == "cann"
    return family.ops_package if new or not family.kernels_package else family.kernels_package


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
    """Rows of `env_vars.tsv` of one role (`debug`, `leftover`, `values`)."""
    return tuple(r for r in tables.load("env_vars").rows if r["role"] == role)


def python_limit(name: str) -> Mapping[str, str]:
    """The row of a package in `python_needs.tsv`."""
    return next(r for r in tables.load("python_needs").rows if r["package"] == name)
