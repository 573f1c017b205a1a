"""Faults to put into a run on purpose: what people get wrong when they write or port PPO.

Each takes a finished `Trainer` and breaks one thing in it. `SETTINGS` holds the faults that are settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from reference_ppo.normalize import Normalizer
from reference_ppo.train import Trainer

SETTINGS: dict[str, dict[str, Any]] = {
    "lr x10": {"lr": 3e-3},
    "lr x30": {"lr": 1e-2},
    "lr x100": {"lr": 3e-2},
    "lr / 30": {"lr": 1e-5},
    "entropy rewarded too much": {"entropy_coef": 0.3},
    "entropy punished": {"entropy_coef": -1.0},
    "40 epochs": {"epochs": 40},
    "no gradient clipping": {"max_grad_norm": 1e9},
    "advantages not normalised": {"normalize_advantage": False},
    "8-step rollouts": {"num_envs": 256},
}


def zeroed_advantage(t: Trainer) -> None:
    """The advantage never reaches the loss."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        estimate(gamma, lam)
        t.buffer.advantage[:] = 0.0

    t.buffer.estimate = broken  # type: ignore[method-assign]


def flipped_advantage(t: Trainer) -> None:
    """The loss has the wrong sign."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        estimate(gamma, lam)
        t.buffer.advantage *= -1

    t.buffer.estimate = broken  # type: ignore[method-assign]


def unnormalised_observations(t: Trainer) -> None:
    """Observations in other units, 100 times as large, and no normalisation."""
    t.normalizer.__class__ = Times100


class Times100(Normalizer):
    """Does the opposite of normalising."""

    def __call__(self, s: np.ndarray) -> np.ndarray:
        return s * np.float32(100)


def reward_x1000(t: Trainer) -> None:
    """Rewards in other units."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        t.buffer.r *= 1000
        estimate(gamma, lam)

    t.buffer.estimate = broken  # type: ignore[method-assign]


def learning_rate_jumps(t: Trainer) -> None:
    """1000 times the learning rate from update 20 on: the return has risen, then it crashes."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        estimate(gamma, lam)
        if t.updates == 20:
            t.adam.lr *= 1000

    t.buffer.estimate = broken  # type: ignore[method-assign]


def nan_in_one_advantage(t: Trainer) -> None:
    """One NaN, in the fifth rollout."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        estimate(gamma, lam)
        if t.updates == 5:
            t.buffer.advantage[3, 1] = np.nan

    t.buffer.estimate = broken  # type: ignore[method-assign]


def time_limit_as_termination(t: Trainer) -> None:
    """No bootstrap at the time limit."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        t.buffer.terminated |= t.buffer.truncated
        estimate(gamma, lam)

    t.buffer.estimate = broken  # type: ignore[method-assign]


def advantage_leaks_over_resets(t: Trainer) -> None:
    """GAE runs on into the next episode."""
    estimate = t.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        t.buffer.next_v[:-1] = t.buffer.v[1:]
        t.buffer.truncated[:] = False
        estimate(gamma, lam)

    t.buffer.estimate = broken  # type: ignore[method-assign]


def old_log_prob_without_scale(t: Trainer) -> None:
    """The old log-probability misses the -log sigma term."""
    _change_batch(t, _forget_scale)


def shuffled_old_log_prob(t: Trainer) -> None:
    """Old log-probabilities of other rows."""
    _change_batch(t, lambda t: np.random.default_rng(0).shuffle(t.buffer.log_p))


def observations_off_by_one(t: Trainer) -> None:
    """The buffer holds the next step's observation."""

    def shift(t: Trainer) -> None:
        t.buffer.s[:-1] = t.buffer.s[1:].copy()

    _change_batch(t, shift)


def clipped_action_stored(t: Trainer) -> None:
    """The buffer holds the action after clipping, with the log-probability of the one before."""
    _change_batch(t, lambda t: np.clip(t.buffer.a, -1, 1, out=t.buffer.a))


def low_precision_update(t: Trainer) -> None:
    """The update computes in bfloat16, the rollout in float32."""
    evaluate = t.policy.evaluate

    def broken(*arguments: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            pi, v = evaluate(*arguments)
        pi.mu = pi.mu.float()  # type: ignore[union-attr]
        return pi, v.float()

    t.policy.evaluate = broken  # type: ignore[method-assign]


def _forget_scale(t: Trainer) -> None:
    with torch.no_grad():
        log_std = t.policy.weights()["log_std"].numpy()
    t.buffer.log_p += log_std.sum()


def _change_batch(t: Trainer, change: Callable[[Trainer], Any]) -> None:
    batch = t.policy.batch

    def broken(*args: Any) -> torch.Tensor:
        change(t)
        return batch(*args)

    t.policy.batch = broken  # type: ignore[method-assign]


CODE: dict[str, Callable[[Trainer], None]] = {
    f.__name__.replace("_", " "): f
    for f in (
        zeroed_advantage,
        flipped_advantage,
        unnormalised_observations,
        reward_x1000,
        learning_rate_jumps,
        nan_in_one_advantage,
        time_limit_as_termination,
        advantage_leaks_over_resets,
        old_log_prob_without_scale,
        shuffled_old_log_prob,
        observations_off_by_one,
        clipped_action_stored,
        low_precision_update,
    )
}
