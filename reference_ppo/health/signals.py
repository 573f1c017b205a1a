"""Health signals of one update, computed on the host from what the update recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reference_ppo.buffer import Buffer


def of_update(seen: dict[str, NDArray[np.float32]], epochs: int, clip: float) -> dict[str, float]:
    """What the minibatches of one update say about the policy.

    first_log_ratio: max |log r| at the first minibatch, before any step. 0 up to rounding, or old and new
        log-probabilities are not those of the same policy, state and action.
    approx_kl: mean of (r - 1) - log r over the last epoch (never negative: joschu.net/blog/kl-approx.html).
    kl_max: the same, of the worst minibatch. clip_fraction: share of |r - 1| > epsilon in the last epoch.
    """
    log_r = seen["log_r"].astype(np.float64)  # (M, B)
    last = len(log_r) // epochs
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.exp(log_r)
        k3 = (r - 1 - log_r).mean(1)
        return {
            "first_log_ratio": float(np.abs(log_r[0]).max()),
            "approx_kl": float(k3[-last:].mean()),
            "kl_max": float(k3.max()),
            "clip_fraction": float((np.abs(r[-last:] - 1) > clip).mean()),
            "entropy": float(seen["entropy"][-1]),
            "policy_loss": -float(seen["objective"].mean()),
            "value_loss": float(seen["value_loss"].mean()),
            "grad_norm": median(seen["grad_norm"]),
            "grad_norm_max": float(seen["grad_norm"].max()),
        }


def median(x: NDArray[np.float32]) -> float:
    """Of x (M,). `np.median` first loads numpy.ma: 0.1 s, as much as two updates or three."""
    x, half = np.sort(x), len(x) // 2
    return float(x[half] if len(x) % 2 else (x[half - 1] + x[half]) / 2)


def of_rollout(buffer: Buffer) -> dict[str, float]:
    """Distributions of advantages (before normalisation), rewards and what the policy saw.

    explained_variance: 1 - Var[R - V] / Var[R]; 1 is perfect, 0 no better than the mean.
    observation_rms: root mean square of the normalised observations; about 1.
    """
    a, r = buffer.advantage, buffer.r
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(buffer.returns.var(dtype=np.float64))
        residual = float((buffer.returns - buffer.v).var(dtype=np.float64))
        return {
            "explained_variance": 1 - residual / variance if variance > 0 else 0.0,
            "returns_variance": variance,
            "advantage_mean": float(a.mean()),
            "advantage_std": float(a.std()),
            "reward_mean": float(r.mean()),
            "reward_std": float(r.std()),
            "reward_min": float(r.min()),
            "reward_max": float(r.max()),
            "observation_rms": float(np.sqrt(np.square(buffer.s, dtype=np.float64).mean())),
        }


def count_non_finite(*arrays: NDArray[np.float32]) -> float:
    """How many entries are NaN or infinite."""
    return float(sum(int(x.size - np.isfinite(x).sum()) for x in arrays))
