"""Deterministic evaluation with frozen observation statistics."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from reference_ppo.config import Config
from reference_ppo.envs.make import make_envs, successes
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy

FIRST_SEED = 1_000_000
"""Evaluation episodes start where no training episode of a small seed does."""


@dataclass(frozen=True)
class Evaluation:
    """Outcome of one episode in each of several environments."""

    returns: list[float]
    success_rate: float | None
    """None if the environment reports no success."""


def on_host(policy: Policy) -> Policy:
    """A copy of the policy on the CPU: one transfer, then evaluation does not touch the device."""
    twin = copy.copy(policy)
    twin._parameters = {"theta": torch.nn.Parameter(policy.theta.detach().cpu())}
    return twin


def evaluation_envs(config: Config) -> VectorEnv:
    """One environment per evaluation episode, in this process."""
    return make_envs(replace(config, workers=False), config.eval_episodes)


def evaluate(policy: Policy, normalizer: Normalizer, envs: VectorEnv) -> Evaluation:
    """The first episode of each environment, always taking the most likely action."""
    host, n = on_host(policy), envs.num_envs
    obs, _ = envs.reset(seed=[FIRST_SEED + i for i in range(n)])  # type: ignore[arg-type]
    returns, open_, success = np.zeros(n), np.ones(n, bool), np.zeros(n, bool)
    state, known = torch.zeros(n, policy.state_size), False
    while open_.any():
        with torch.no_grad():
            a, state = host.mode(torch.from_numpy(normalizer(np.asarray(obs, np.float32))), state)
        obs, r, terminated, truncated, infos = envs.step(policy.to_env(a.numpy()))
        returns += np.where(open_, r, 0.0)
        ended = np.flatnonzero((terminated | truncated) & open_)
        if len(ended):
            open_[ended] = False
            s = successes(infos, ended)
            if s is not None:
                known, success[ended] = True, s
    return Evaluation(returns.tolist(), float(success.mean()) if known else None)
