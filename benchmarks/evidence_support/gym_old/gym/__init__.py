"""`import gym` as it was before 0.26, answered by gymnasium: four values from `step`, one from `reset`."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces

__all__ = ["make", "spaces"]


class Environment:
    """One environment with the old calls; what it does not have is gymnasium's."""

    def __init__(self, env: Any) -> None:
        self._env, self._seed = env, None

    def seed(self, seed: int) -> None:
        """Used at the next reset, as gymnasium wants it."""
        self._seed = seed

    def reset(self) -> Any:
        seed, self._seed = self._seed, None
        return self._env.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self._env.step(action)
        return obs, reward, terminated or truncated, info

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


def make(name: str, **kw: Any) -> Environment:
    """As `gym.make` was."""
    return Environment(gymnasium.make(name, **kw))
