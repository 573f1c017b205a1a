"""How to install a set: exact pip commands per architecture, and published container images."""

from __future__ import annotations

import functools

from packaging.specifiers import SpecifierSet

from npudoctor import tables
from npudoctor.pairing.rows import PairRow
from npudoctor.pairing.solve import Candidate
from npudoctor.pairing.table import Tables

# The index of CPU builds, as the vendor's install guide uses it:
# https://github.com/Ascend/pytorch/blob/v2.12.0-26.1.0/README.md
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
RELEASES = "https://gitcode.com/Ascend/pytorch/releases"
CANN_IMAGE = "quay.io/ascend/cann"
TORCH_NPU_IMAGE = "quay.io/ascend/torch-npu"
PIP = "python -m pip install"


def pip_commands(row: PairRow, python: str, arch: str) -> tuple[str, ...]:
    """Commands in order: torch from the CPU index, the packages both need, torch_npu.

    On x86_64 torch_npu pins torch to its `+cpu` build, and the default index carries CUDA
    builds. On aarch64 the plain version is asked for: older releases have no `+cpu` build
    there, and for newer ones the plain request finds it in the same index.
    """
    needs = " ".join(_quoted(r) for r in python_needs(python))
    commands = [
        torch_command(row.torch, arch),
        f"{PIP} {needs}",
    ]
    if row.on_index:
        commands.append(f"{PIP} torch_npu=={row.torch_npu}")
    else:
        tag = f"cp{python.replace('.', '')}" if python else "cp*"
        wheel = f"torch_npu-{row.torch_npu}-{tag}-{tag}-*_{arch}.whl"
        commands.append(f"{PIP} ./{wheel}")
    return tuple(commands)


def torch_command(torch: str, arch: str) -> str:
    """The pip line for the build of torch that torch_npu goes with."""
    suffix = "+cpu" if arch == "x86_64" else ""
    return f"{PIP} torch=={torch}{suffix} --index-url {CPU_INDEX}"


def pair_commands(torch: str, torch_npu: str, arch: str) -> tuple[str, ...]:
    """Commands for the two packages alone, where what they need is installed already."""
    return torch_command(torch, arch), f"{PIP} torch_npu=={torch_npu}"


@functools.lru_cache(maxsize=16)
def python_needs(python: str) -> tuple[str, ...]:
    """Requirements that torch_npu and CANN leave to the user, for a minor Python version.

    The names are those of `python_needs.tsv`; `pip_needs.tsv` adds what the install guide
    asks for besides, and which NumPy it pairs with which Python.
    """
    wanted = []
    for row in tables.load("pip_needs").rows:
        bounds = [f">={row['python_from']}"] if row["python_from"] else []
        bounds += [f"<{row['python_below']}"] if row["python_below"] else []
        if not python or python in SpecifierSet(",".join(bounds)):
            wanted.append(row["requirement"])
    named = {row["package"] for row in tables.load("pip_needs").rows}
    rest = [row["package"] for row in tables.load("python_needs").rows if row["package"] not in named]
    return (*wanted, *rest)


def images(data: Tables, candidate: Candidate, chip: str | None) -> tuple[str, ...]:
    """Published images for a set: with torch_npu inside first, then CANN alone."""
    found = []
    for row in tables.load("torch_npu_images").rows:
        chips, systems = row["chips"].split(","), row["os"].split(",")
        same = row["torch_npu"] == candidate.row.torch_npu and row["python"] == candidate.python
        if same and (chip is None or chip in chips):
            tag = f"{row['torch_npu']}-{chip or '<chip>'}-{systems[0]}-py{row['python']}"
            found.append(f"{TORCH_NPU_IMAGE}:{tag}")
    image = candidate.image
    if image is not None:
        found.append(f"{CANN_IMAGE}:{image.tag}-{chip or '<chip>'}-{image.os}-py{candidate.python}")
    return tuple(found)


def _quoted(requirement: str) -> str:
    return f'"{requirement}"' if set(requirement) & set("<>") else requirement
