"""Build N environments as one gymnasium vector environment in SAME_STEP autoreset mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from reference_ppo.config import Config
from reference_ppo.envs.reach import ReachVectorEnv
from reference_ppo.envs.worker import WorkerVectorEnv, worker
from reference_ppo.errors import UsageError

REACH_ID = "reference_ppo/Reach-v0"


def register() -> None:
    """Make the reach task known to gymnasium as `reference_ppo/Reach-v0`, single and vectorised."""
    if REACH_ID not in gym.registry:
        gym.register(
            REACH_ID,
            entry_point="reference_ppo.envs.reach:ReachEnv",
            vector_entry_point="reference_ppo.envs.reach:ReachVectorEnv",
        )


@dataclass(frozen=True)
class Spec:
    """What the policy must know of an environment."""

    obs_dim: int
    """D"""
    act_dim: int
    """K: dimensions of a Box action, or the number of choices of a Discrete one."""
    discrete: bool
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    start: int = 0
    """The first choice of a Discrete space."""

    def to_env(self, a: NDArray[np.float32], squash: bool = False) -> NDArray[Any]:
        """Policy action (N, K) or (N, 1) -> environment action: clip to [-1, 1], stretch to [low, high].

        With `squash` the sample u becomes tanh(u) first, which the clip then leaves as it is. Only the
        environment sees the result. The buffer keeps the one that was sampled, because that is the one whose
        log-probability is known. Unbounded dimensions pass through.
        """
        if self.discrete:
            return a[:, 0].astype(np.int64) + self.start
        if squash:
            a = np.tanh(a)
        bounded, low, half = self.bounds
        inside = low + (np.clip(a, -1.0, 1.0) + 1) * half
        return inside if bounded is None else np.where(bounded, inside, a)

    @cached_property
    def bounds(self) -> tuple[NDArray[np.bool_] | None, NDArray[np.float32], NDArray[np.float32]]:
        """Which dimensions are bounded (K,), None if all are; low and half the width of these."""
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(bounded, self.low, -1), np.where(bounded, self.high, 1)
        half = 0.5 * (high - low)
        return None if bounded.all() else bounded, low.astype(np.float32), half.astype(np.float32)


def spec_of(envs: gym.vector.VectorEnv) -> Spec:
    """Read the spaces of a vector environment.

    Raises:
        UsageError: the action space is neither Box nor Discrete.
    """
    space, obs = envs.single_action_space, envs.single_observation_space
    assert obs.shape is not None
    empty = np.zeros(0, np.float32)
    if isinstance(space, gym.spaces.Discrete):
        return Spec(int(np.prod(obs.shape)), int(space.n), True, empty, empty, int(space.start))
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        return Spec(int(np.prod(obs.shape)), space.shape[0], False, low, high)
    raise UsageError(f"actions must be a 1-D Box or Discrete, this environment has {space}")


def make_single(env_id: str, kwargs: dict[str, Any]) -> gym.Env[Any, Any]:
    """One environment with flat float observations."""
    register()
    env = gym.make(env_id, **kwargs)
    space = env.observation_space
    if not (isinstance(space, gym.spaces.Box) and len(space.shape) == 1):
        env = gym.wrappers.FlattenObservation(env)
    return env


def make_envs(config: Config, num_envs: int | None = None) -> gym.vector.VectorEnv:
    """N environments as one. Reset them with `seed=[...]`, one seed per environment.

    Raises:
        UsageError: gymnasium does not know the environment or cannot make it.
    """
    try:
        return _make_envs(config, config.num_envs if num_envs is None else num_envs)
    except gym.error.Error as error:
        raise UsageError(f"cannot make environment {config.env}: {error}") from error


def _make_envs(config: Config, n: int) -> gym.vector.VectorEnv:
    reach = config.env in ("reach", REACH_ID)
    if reach and not config.workers:
        return ReachVectorEnv(n, reward=config.reward, **config.extra)
    kwargs = {**({"reward": config.reward} if reach else {}), **config.extra}
    one = partial(make_single, REACH_ID if reach else config.env, kwargs)
    if config.workers:
        # spawn: a forked child of a process that has opened an accelerator inherits a broken context.
        mode = AutoresetMode.SAME_STEP
        return WorkerVectorEnv([one] * n, context="spawn", worker=worker, autoreset_mode=mode)
    return SyncVectorEnv([one] * n, autoreset_mode=AutoresetMode.SAME_STEP)


def final_observations(infos: dict[str, Any], ended: NDArray[np.int64]) -> NDArray[np.float32]:
    """The last observation of each episode that ended in this step, (len(ended), D)."""
    return np.stack([np.asarray(infos["final_obs"][i], np.float32) for i in ended])


def successes(infos: dict[str, Any], ended: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Which of the ended episodes succeeded; None for environments that do not say."""
    final = infos.get("final_info", {})
    return np.asarray(final["success"], bool)[ended] if "success" in final else None
