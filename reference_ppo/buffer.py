"""One rollout in host memory."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from reference_ppo.envs.make import Spec
from reference_ppo.gae import gae

Array = NDArray[np.float32]


class Buffer:
    """T steps of N environments. Time first: (T, N, ...)."""

    def __init__(self, t: int, n: int, spec: Spec) -> None:
        self.a_dim = 1 if spec.discrete else spec.act_dim
        self.raw = np.zeros((t, n, spec.obs_dim), np.float32)  # observations as the environment gave them
        self.s = np.zeros((t, n, spec.obs_dim), np.float32)  # normalised: what the policy saw
        self.keep = np.ones((t, n), np.float32)  # 0 where an episode begins
        self.a = np.zeros((t, n, self.a_dim), np.float32)  # as sampled, before any clipping
        self.log_p = np.zeros((t, n), np.float32)
        self.v = np.zeros((t, n), np.float32)
        self.next_v = np.zeros((t, n), np.float32)
        self.r = np.zeros((t, n), np.float32)
        self.terminated = np.zeros((t, n), bool)
        self.truncated = np.zeros((t, n), bool)
        self.advantage = np.zeros((t, n), np.float32)
        self.returns = np.zeros((t, n), np.float32)

    def part(self, envs: slice) -> Buffer:
        """Some of the environments, in the same memory."""
        view = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(view, name, value[:, envs])
        return view

    def estimate(self, gamma: float, lam: float) -> None:
        """Fill `advantage` and `returns`."""
        self.advantage[:], self.returns[:] = gae(
            self.r, self.v, self.next_v, self.terminated, self.truncated, gamma, lam
        )

    def targets(self) -> Array:
        """a | log pi_old | A | R, (T, N, K + 3)."""
        return np.concatenate([self.a, np.stack([self.log_p, self.advantage, self.returns], -1)], -1)
