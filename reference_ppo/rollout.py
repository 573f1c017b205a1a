"""Collect T steps of N environments into a buffer in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from reference_ppo.envs.make import Spec, final_observations, successes
from reference_ppo.gae import gae
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy
from reference_ppo.timing import Stages

Array = NDArray[np.float32]


class Buffer:
    """One rollout, in host memory. Time first: (T, N, ...)."""

    def __init__(self, t: int, n: int, spec: Spec) -> None:
        self.a_dim = 1 if spec.discrete else spec.act_dim
        self.raw = np.zeros((t, n, spec.obs_dim), np.float32)  # observations as the environment gave them
        self.s = np.zeros((t, n, spec.obs_dim), np.float32)  # normalised: what the policy saw
        self.a = np.zeros((t, n, self.a_dim), np.float32)
        self.log_p = np.zeros((t, n), np.float32)
        self.v = np.zeros((t, n), np.float32)
        self.r = np.zeros((t, n), np.float32)
        self.terminated = np.zeros((t, n), bool)
        self.truncated = np.zeros((t, n), bool)
        self.next_v = np.zeros((t, n), np.float32)
        self.advantage = np.zeros((t, n), np.float32)
        self.returns = np.zeros((t, n), np.float32)

    def estimate(self, gamma: float, lam: float) -> None:
        """Fill `advantage` and `returns`."""
        self.advantage, self.returns = gae(
            self.r, self.v, self.next_v, self.terminated, self.truncated, gamma, lam
        )

    def rows(self) -> Array:
        """Everything the update needs, one row per step: s | a | log pi_old | A | R, (T N, D + K + 3).

        One array, so that one copy moves the batch to the device.
        """
        columns = (self.s, self.a, self.log_p[..., None], self.advantage[..., None], self.returns[..., None])
        return np.concatenate(columns, -1).reshape(-1, self.s.shape[-1] + self.a_dim + 3)


class Episodes:
    """Returns and successes of finished episodes: all since the last `take`."""

    def __init__(self, n: int) -> None:
        self.running = np.zeros(n)
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

    def take(self) -> tuple[list[float], list[bool]]:
        """Hand over and forget."""
        out = self.returns, self.success
        self.returns, self.success = [], []
        return out


class Collector:
    """Steps the environments with the current policy."""

    def __init__(
        self, envs: VectorEnv, policy: Policy, normalizer: Normalizer, seeds: list[int], stages: Stages
    ) -> None:
        self.envs, self.policy, self.normalizer, self.stages = envs, policy, normalizer, stages
        self.device = policy.theta.device
        self.episodes = Episodes(envs.num_envs)
        first, _ = envs.reset(seed=seeds)  # type: ignore[arg-type]  # gymnasium takes a list too
        self.obs: Array = np.asarray(first, np.float32)  # (N, D)

    def collect(self, buffer: Buffer, noise: Array) -> None:
        """Fill `buffer` (T, N). `noise` (T, N, K) was drawn on the host.

        Exactly one copy from the device per vector step, and one more per rollout for V of next states.
        """
        spec, k = self.policy.spec, buffer.a_dim
        final: list[Array] = []  # last observations of ended episodes, in the order of np.nonzero(done)
        for t in range(len(noise)):
            buffer.raw[t] = self.obs
            buffer.s[t] = s = self.normalizer(self.obs)
            out = self.act(np.concatenate([s, noise[t]], 1))  # (N, K + 2)
            buffer.a[t], buffer.log_p[t], buffer.v[t] = out[:, :k], out[:, k], out[:, k + 1]
            with self.stages("env"):
                obs, r, terminated, truncated, infos = self.envs.step(spec.to_env(out[:, :k]))
            buffer.r[t], buffer.terminated[t], buffer.truncated[t] = r, terminated, truncated
            done = terminated | truncated
            self.episodes.add(r, done, infos)
            if done.any():
                final.append(final_observations(infos, np.flatnonzero(done)))
            self.obs = np.asarray(obs, np.float32)
        self._next_values(buffer, final)

    def act(self, s_noise: Array) -> Array:
        """Policy inference for all environments at once: one copy in, one copy out."""
        with self.stages("transfer"):
            x = torch.from_numpy(s_noise).to(self.device)
        with self.stages("inference"), torch.no_grad():
            out = self.policy.act(x)
        with self.stages("transfer"):  # waits for the device: also holds the time its queue still needs
            self.stages.device_to_host += 1
            return out.cpu().numpy()

    def _next_values(self, buffer: Buffer, final: list[Array]) -> None:
        """V(s_{t+1}) of every step, with the final observation where an episode ended."""
        n = self.envs.num_envs
        states = np.concatenate([self.obs, *final])
        # Fill up to a multiple of N: few different shapes, hence few kernels to compile on an NPU.
        states = np.concatenate([states, np.zeros((-len(states) % n, states.shape[1]), np.float32)])
        with self.stages("transfer"):
            x = torch.from_numpy(self.normalizer(states)).to(self.device)
        with self.stages("inference"), torch.no_grad():
            v = self.policy.value(x)
        with self.stages("transfer"):
            values = v.cpu().numpy()
        buffer.next_v[:-1], buffer.next_v[-1] = buffer.v[1:], values[:n]
        done = buffer.terminated | buffer.truncated
        buffer.next_v[done] = values[n : n + int(done.sum())]
