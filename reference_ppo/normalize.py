"""Running mean and standard deviation of the observations, on the host, shared by all environments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Normalizer:
    """Standardises observations: (s - mean) / std, clipped to [-10, 10].

    The statistics move only between rollouts, so all of a rollout is seen through the same glasses and the
    importance ratio at its first minibatch is exactly 1. Evaluation never moves them. A policy is only whole
    together with them: checkpoints and exports carry both.
    """

    def __init__(self, dim: int, enabled: bool = True) -> None:
        self.enabled = enabled
        self.count = 0.0
        self.mean = np.zeros(dim)
        self.m2 = np.zeros(dim)  # sum of squared deviations
        self._freeze()

    def __call__(self, s: NDArray[np.float32]) -> NDArray[np.float32]:
        """(..., D) -> (..., D), with frozen statistics."""
        if not self.enabled:
            return s
        return np.clip((s - self.shift) * self.scale, -10.0, 10.0)

    def merge(self, n: float, mean: NDArray[np.float64], m2: NDArray[np.float64]) -> None:
        """Add a sample, given its count, mean and sum of squared deviations (Chan et al. 1979)."""
        delta = mean - self.mean
        total = self.count + n
        self.m2 = self.m2 + m2 + delta * delta * (self.count * n / total)
        self.mean = self.mean + delta * (n / total)
        self.count = total
        self._freeze()

    def _freeze(self) -> None:
        std = np.sqrt(self.m2 / self.count) if self.count else np.ones_like(self.mean)
        self.shift = self.mean.astype(np.float32)
        self.scale = (1.0 / (std + 1e-4)).astype(np.float32)

    def state(self) -> dict[str, object]:
        """Plain types for a checkpoint."""
        return {"count": self.count, "mean": self.mean.tolist(), "m2": self.m2.tolist()}

    def load(self, state: dict[str, object]) -> None:
        """Inverse of `state`."""
        self.count = float(state["count"])  # type: ignore[arg-type]
        self.mean, self.m2 = np.array(state["mean"]), np.array(state["m2"])
        self._freeze()
