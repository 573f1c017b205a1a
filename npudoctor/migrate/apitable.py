"""The map from CUDA names to torch_npu's, with the wheels each name was read from."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from npudoctor import tables

ACTIONS = frozenset({"rewrite", "keep", "manual", "unsupported"})


@dataclass(frozen=True)
class Api:
    """One row.

    Attributes:
        name: dotted path under torch.cuda or torch.backends.
        action: `rewrite` (same meaning), `keep`, `manual` (a person decides) or `unsupported`.
        target: dotted path of the counterpart, empty if there is none.
        present_in: torch_npu wheels whose sources define the target; empty when there is no target.
        keywords: keyword arguments that are named differently.
        if_left: what happens to the unchanged line without CUDA: silent, loud, works, unknown.
        note: (English, Chinese), may be empty.
    """

    name: str
    action: str
    target: str
    present_in: frozenset[str]
    keywords: tuple[tuple[str, str], ...]
    if_left: str
    note: tuple[str, str]
    source: str

    def available(self, version: str) -> bool:
        """Whether the target exists in torch_npu `version`, as far as the wheels that were read show.

        A version that was not read counts as having a name only if every wheel read of the
        same release line has it, and if none of that line was read, every wheel read at all.
        """
        read = wheels()
        if version in read:
            return version in self.present_in
        line = [v for v in read if v.split(".")[:2] == version.split(".")[:2]]
        return bool(self.present_in) and all(v in self.present_in for v in line or read)


@functools.cache
def wheels() -> tuple[str, ...]:
    """Versions of torch_npu whose wheels were read, oldest line first."""
    return tuple(row["version"] for row in tables.load("torch_npu_wheels").rows)


@functools.cache
def apis() -> dict[str, Api]:
    """Every row by name."""
    return {row["name"]: _api(dict(row)) for row in tables.load("cuda_api").rows}


def lookup(path: str) -> Api | None:
    """The row of `path`, or of the longest prefix that has one (`torch.cuda.comm.gather` -> its module)."""
    found = path
    while "." in found:
        row = apis().get(found)
        if row is not None:
            return row
        found = found.rpartition(".")[0]
    return None


def _api(row: dict[str, str]) -> Api:
    present = row["present_in"]
    names = frozenset(wheels() if present == "all" else () if present == "-" else present.split())
    pairs = re.findall(r"(\w+)=(\w+)", row["keywords"])
    blank = {"-": ""}
    return Api(
        row["name"],
        row["action"],
        blank.get(row["target"], row["target"]),
        names,
        tuple(pairs),
        row["if_left"],
        (blank.get(row["note_en"], row["note_en"]), blank.get(row["note_zh"], row["note_zh"])),
        row["source_url"],
    )
