"""What a simulation is asked to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Settings of one activation.

    Attributes:
        device_count: how many simulated NPUs there are, named `npu:0` and so on.
        chip: the chip whose limits and name are shown, a key of data/chips.tsv.
        strict: raise where the real device would refuse or crawl, instead of a warning.
        window: events kept for the timeline (the last ones).
    """

    device_count: int = 1
    chip: str = "Ascend910B3"
    strict: bool = False
    window: int = 200_000
