"""Collect T steps of N environments with the current policy."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from reference_ppo.buffer import Buffer
from reference_ppo.envs.make import final_observations
from reference_ppo.episodes import Episodes
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy
from reference_ppo.timing import Stages

Array = NDArray[np.float32]


class Collector:
    """Steps N environments. A step has four parts, so that two groups of environments can take turns:

    launch: queue the policy on the device; read: wait for its actions; send and recv: step the environments.
    """

    def __init__(
        self, envs: VectorEnv, policy: Policy, normalizer: Normalizer, seeds: list[int], stages: Stages
    ) -> None:
        self.envs, self.policy, self.normalizer, self.stages = envs, policy, normalizer, stages
        self.device, n = policy.theta.device, envs.num_envs
        self.episodes = Episodes(n)
        first, _ = envs.reset(seed=seeds)  # type: ignore[arg-type]  # gymnasium takes a list too
        self.obs: Array = np.asarray(first, np.float32)  # (N, D)
        self.keep = np.ones((n, 1), np.float32)  # 0 where an episode has just begun
        self.state = torch.zeros((n, policy.state_size), device=self.device)

    def collect(self, buffer: Buffer, noise: Array) -> None:
        """Fill `buffer` (T, N). `noise` (T, N, K) was drawn on the host.

        Exactly one copy from the device per vector step, and one more per rollout for V of next states.
        """
        self.begin(buffer, noise)
        for t in range(len(noise)):
            self.launch(t)
            self.read(t)
            self.send(t)
            self.recv(t)
        self.end()

    def begin(self, buffer: Buffer, noise: Array) -> None:
        """Start a rollout."""
        self.buffer, self.noise = buffer, noise
        self.final_obs: list[Array] = []  # of ended episodes, in the order of np.nonzero(done)
        self.final_state: list[Tensor] = []
        self.states: list[Tensor] = []  # the policy's memory at the start of every sequence
        with torch.no_grad():
            self.weights = self.policy.weights()

    def launch(self, t: int) -> None:
        """Policy inference for all environments at once: one copy in."""
        b = self.buffer
        b.raw[t], b.s[t], b.keep[t] = self.obs, self.normalizer(self.obs), self.keep[:, 0]
        with self.stages("transfer"):
            x = torch.from_numpy(np.concatenate([b.s[t], self.noise[t], self.keep], 1)).to(self.device)
        if self.policy.state_size and t % self.policy.sequence == 0:
            self.states.append(self.state)
        with self.stages("inference"), torch.no_grad():
            self.out, self.state = self.policy.act(x, self.state, self.weights)

    def read(self, t: int) -> None:
        """One copy out. It waits for the device, so it also holds the time the device's queue still needs."""
        b, k = self.buffer, self.buffer.a_dim
        with self.stages("transfer"):
            self.stages.device_to_host += 1
            out = self.out.cpu().numpy()  # (N, K + 2)
        b.a[t], b.log_p[t], b.v[t] = out[:, :k], out[:, k], out[:, k + 1]

    def send(self, t: int) -> None:
        """Hand the actions to the environments; worker processes start stepping."""
        self.actions = self.policy.to_env(self.buffer.a[t])
        if hasattr(self.envs, "step_async"):
            self.envs.step_async(self.actions)

    def recv(self, t: int) -> None:
        """The environments' answer. In-process environments step now."""
        b = self.buffer
        with self.stages("env"):
            wait = getattr(self.envs, "step_wait", None)
            answer = wait() if wait else self.envs.step(self.actions)
        obs, b.r[t], b.terminated[t], b.truncated[t], infos = answer
        self.obs = np.asarray(obs, np.float32)
        done = b.terminated[t] | b.truncated[t]
        self.keep = 1.0 - done[:, None].astype(np.float32)
        self.episodes.add(b.r[t], done, infos)
        if done.any():
            ended = np.flatnonzero(done)
            self.final_obs.append(final_observations(infos, ended))
            if self.policy.state_size:
                self.final_state.append(self.state[torch.from_numpy(ended).to(self.device)])
            else:
                self.final_state.append(self.state[: len(ended)])

    def end(self) -> None:
        """V(s_{t+1}) of every step, with the final observation where an episode ended."""
        n, b = self.envs.num_envs, self.buffer
        states = np.concatenate([self.obs, *self.final_obs])  # (N + ended, D)
        # Fill up to a multiple of N: few different shapes, hence few kernels to compile on an NPU.
        padding = -len(states) % n
        states = np.concatenate([states, np.zeros((padding, states.shape[1]), np.float32)])
        with self.stages("transfer"):
            x = torch.from_numpy(self.normalizer(states)).to(self.device)
        with self.stages("inference"), torch.no_grad():
            v = self.policy.value(x, torch.cat([self.state, *self.final_state, self.state[:padding]]))
        with self.stages("transfer"):
            values = v.cpu().numpy()
        b.next_v[:-1], b.next_v[-1] = b.v[1:], values[:n]
        done = b.terminated | b.truncated
        b.next_v[done] = values[n : n + int(done.sum())]
