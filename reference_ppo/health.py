"""Health signals of one update, computed on the host from what the update recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reference_ppo.buffer import Buffer


def signals(seen: dict[str, NDArray[np.float32]], buffer: Buffer, epochs: int) -> dict[str, float]:
    """The numbers PPO people look at.

    first_log_ratio: max |log r| of the first minibatch, before any step. Must be 0 up to rounding.
    approx_kl: mean of (r - 1) - log r over the last epoch (Schulman's k3: never negative).
    kl_max: the same, of the worst minibatch. clip_fraction: share of |r - 1| > 0.2 in the last epoch.
    explained_variance: 1 - Var[R - V] / Var[R]; 1 is perfect, 0 as good as the mean.
    """
    log_r = seen["log_r"].astype(np.float64)
    last = log_r[-(len(log_r) // epochs) :]
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.exp(log_r)
        k3 = (r - 1 - log_r).mean(1)
        variance = float(buffer.returns.var())
        explained = 1 - float((buffer.returns - buffer.v).var()) / variance if variance > 0 else 0.0
    out = {
        "first_log_ratio": float(np.abs(log_r[0]).max()),
        "approx_kl": float(k3[-len(last) :].mean()),
        "kl_max": float(k3.max()),
        "clip_fraction": float((np.abs(np.exp(np.clip(last, -50, 50)) - 1) > 0.2).mean()),
        "entropy": float(seen["entropy"][-1]),
        "policy_loss": float(seen["policy_loss"].mean()),
        "value_loss": float(seen["value_loss"].mean()),
        "grad_norm": float(np.median(seen["grad_norm"])),
        "grad_norm_max": float(seen["grad_norm"].max()),
        "explained_variance": explained,
    }
    arrays = [seen["log_r"], seen["grad_norm"], seen["value_loss"], buffer.r, buffer.s, buffer.v]
    out["non_finite"] = float(sum(int((~np.isfinite(x)).sum()) for x in arrays))
    return out


def rollout_signals(buffer: Buffer) -> dict[str, float]:
    """Distribution of advantages (before normalisation) and rewards."""
    a, r = buffer.advantage, buffer.r
    return {
        "advantage_mean": float(a.mean()),
        "advantage_std": float(a.std()),
        "reward_mean": float(r.mean()),
        "reward_std": float(r.std()),
        "reward_min": float(r.min()),
        "reward_max": float(r.max()),
    }
