"""Returns and successes of finished episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_ppo.envs.make import successes


class Episodes:
    """Follows N environments; hands over what has finished since the last `take`."""

    def __init__(self, n: int) -> None:
        self.running = np.zeros(n)  # return so far of the episodes in flight
        self.returns: list[float] = []
        self.success: list[bool] = []

    def add(self, r: NDArray[Any], done: NDArray[np.bool_], infos: dict[str, Any]) -> None:
        """Account for one vector step."""
        self.running += r
        ended = np.flatnonzero(done)
        if len(ended):
            self.returns += self.running[ended].tolist()
            self.running[ended] = 0.0
            success = successes(infos, ended)
            if success is not None:
                self.success += success.tolist()

    def take(self) -> list[tuple[float, bool | None]]:
        """(return, success) of each finished episode; success is None where the environment reports none."""
        known: list[bool | None] = [*self.success] if self.success else [None] * len(self.returns)
        out = list(zip(self.returns, known))
        self.returns, self.success = [], []
        return out
