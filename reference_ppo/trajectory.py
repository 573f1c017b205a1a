"""Paths of the trained policy on the reach task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reference_ppo.envs.reach import MAX_STEPS, ReachVectorEnv
from reference_ppo.evaluate import FIRST_SEED, on_host
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy


@dataclass(frozen=True)
class Paths:
    """Positions (steps + 1, n, 2), targets (n, 2) and who held still at the end (n,)."""

    positions: NDArray[np.float64]
    targets: NDArray[np.float64]
    success: NDArray[np.bool_]


def follow(policy: Policy, normalizer: Normalizer, n: int = 6) -> Paths:
    """One episode in each of n environments, always the most likely action."""
    env, host = ReachVectorEnv(n), on_host(policy)
    obs, _ = env.reset(seed=FIRST_SEED)
    state, positions, targets = torch.zeros(n, policy.state_size), [env.p.copy()], env.g.copy()
    for _ in range(MAX_STEPS - 1):  # the last step would already show the next episode
        with torch.no_grad():
            a, state = host.mode(torch.from_numpy(normalizer(obs)), state)
        obs, _, _, _, infos = env.step(policy.to_env(a.numpy()))
        positions.append(env.p.copy())
    return Paths(np.array(positions), targets, np.asarray(infos["success"]))
