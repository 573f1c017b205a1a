"""What the rules look back on."""

from __future__ import annotations

import math
from typing import Any

from reference_ppo.config import Config
from reference_ppo.envs.make import Spec

Event = dict[str, Any]


class History:
    """The `update` events of a run so far. `updates` counts from 1."""

    def __init__(self, config: Config, spec: Spec) -> None:
        self.events: list[Event] = []
        self.discrete, self.horizon, self.max_grad_norm = spec.discrete, config.horizon, config.max_grad_norm
        self.entropy_scale = math.log(max(spec.act_dim, 2)) if spec.discrete else float(spec.act_dim)

    @property
    def updates(self) -> int:
        """How many updates are known."""
        return len(self.events)

    def last(self, signal: str) -> float:
        """Value in the latest update."""
        return float(self.events[-1]["health"][signal])

    def first(self, signal: str) -> float:
        """Value in the first update."""
        return float(self.events[0]["health"][signal])

    def ago(self, signal: str, n: int) -> float:
        """Value n updates before the latest, or in the first."""
        return float(self.events[max(0, len(self.events) - 1 - n)]["health"][signal])

    def mean(self, signal: str, n: int) -> float:
        """Mean over the last n updates; NaN, which no rule fires on, while there are fewer."""
        return self._mean([e["health"][signal] for e in self.events[-n:]], n)

    def start_mean(self, signal: str, n: int) -> float:
        """Mean over the first n updates."""
        return self._mean([e["health"][signal] for e in self.events[:n]], n)

    def explained_variance(self, n: int) -> float:
        """Pooled over the last n rollouts; 1 where the returns do not vary at all."""
        recent = [e["health"] for e in self.events[-n:]]
        total = sum(h["returns_variance"] for h in recent)
        missed = sum((1 - h["explained_variance"]) * h["returns_variance"] for h in recent)
        return 1 - missed / total if total > 0 else 1.0

    def returns(self) -> list[float]:
        """Mean return of recent episodes, update by update, from the first that has any."""
        return [e["return"] for e in self.events if e["return"] is not None]

    def first_return(self) -> float:
        """The earliest known return."""
        return self.returns()[0]

    def last_return(self) -> float | None:
        """The latest known return."""
        known = self.returns()
        return known[-1] if known else None

    def best_return(self) -> float | None:
        """The highest so far."""
        return max(self.returns(), default=None)

    def return_spread(self) -> float:
        """Standard deviation between the first episodes."""
        return float(next((e["return_std"] for e in self.events if e["return"] is not None), 0.0))

    def solved(self) -> bool:
        """Whether the return has come close to its best and risen clearly above the start."""
        now, best = self.last_return(), self.best_return()
        return now is not None and best is not None and now > self.first_return() and now >= 0.8 * best

    @staticmethod
    def _mean(values: list[float], n: int) -> float:
        return math.fsum(values) / n if len(values) == n else math.nan
