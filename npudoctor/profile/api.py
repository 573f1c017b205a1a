"""What a bound may import: its type, the split of time it judges, and texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text

if TYPE_CHECKING:  # it needs NumPy, and `explain NPU501` has to work without
    from npudoctor.profile.analyse import Analysis

__all__ = ["Bound", "Finding", "Fix", "Severity", "Split", "Text"]


@dataclass(frozen=True)
class Split:
    """Where the window went: microseconds that would vanish with each cause.

    For a trace with a device: busy time is `compute`, idle time is split by cause. For a
    trace of the host alone the same five are a forecast from counts and the latencies of
    data/device_costs.tsv, and `forecast` is True.
    """

    compute: float
    env: float
    transfer: float
    sync: float
    launch: float
    forecast: bool

    @property
    def total(self) -> float:
        """Sum of the five."""
        return self.compute + self.env + self.transfer + self.sync + self.launch

    def share(self, name: str) -> float:
        """One of the five as a part of the sum, 0 to 1."""
        return float(getattr(self, name)) / self.total if self.total else 0.0


@dataclass(frozen=True)
class Bound:
    """A kind of bottleneck.

    Attributes:
        code, slug: stable identity; the slug is the verdict's name (`sync-bound`).
        part: the field of `Split` that measures it.
        order: place in the order of advice: data pipeline, then fewer waits and launches,
            then larger batches, then the operators themselves.
        title, cause: texts with the parameters `share`, `bound`, `where`, `count`.
        fixes: what to do.
    """

    code: str
    slug: str
    part: str
    order: int
    title: Text
    cause: Text
    fixes: tuple[Fix, ...]
    sources: tuple[str, ...]
    count: Callable[[Analysis], int]
