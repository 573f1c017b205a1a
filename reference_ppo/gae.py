"""Generalized advantage estimation (arXiv:1506.02438)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def gae(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    gamma: float,
    lam: float,
) -> tuple[Array, Array]:
    """Advantages and value targets of a rollout.

        delta_t = r_t + gamma (1 - terminated_t) V(s_{t+1}) - V(s_t)
        A_t     = delta_t + gamma lambda (1 - done_t) A_{t+1},   done = terminated or truncated
        R_t     = A_t + V(s_t)

    A terminated episode has no future: its next value counts as 0. A truncated one (time limit) would have
    gone on: V of its final observation is bootstrapped. Neither lets the next episode's advantage leak in.

    Args:
        rewards: r, (T, N).
        values: V(s_t), (T, N).
        next_values: V(s_{t+1}), (T, N), where s_{t+1} is the *final* observation if the episode ended at t
            (not the first one of the next episode, which SAME_STEP autoreset returns).
        terminated: (T, N).
        truncated: (T, N).
        gamma: discount.
        lam: lambda.

    Returns:
        A and R, (T, N) each.
    """
    delta = rewards + gamma * np.where(terminated, 0.0, next_values).astype(np.float32) - values
    carry = (gamma * lam * ~(terminated | truncated)).astype(np.float32)
    advantages = np.empty_like(delta)
    a = np.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        a = delta[t] + carry[t] * a
        advantages[t] = a
    return advantages, advantages + values
