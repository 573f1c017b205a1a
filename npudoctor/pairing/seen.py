"""Chips as npu-smi lists them, mapped to the families of `chips.tsv`."""

from __future__ import annotations

from npudoctor.machine.facts import Chip
from npudoctor.pairing.chips import Chip as Family
from npudoctor.pairing.chips import chip as find_chip


def family_of(chip: Chip) -> Family | None:
    """The family of a chip that npu-smi lists, None when its name does not tell.

    An A3 (910C) prints only `Ascend910`, and has a Phy-ID column beside HBM; a bare `910B`
    was the name of a first-generation chip in old drivers, and of the second elsewhere.
    """
    name = chip.name.upper().replace("ASCEND", "").strip(" -_")
    if name == "910":
        return find_chip("a3") if chip.phy_id is not None and chip.memory_kind == "hbm" else None
    return None if name == "910B" else find_chip(name)
