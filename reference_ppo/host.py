"""Acting in NumPy, where the host is the device: for few rows, the way to a kernel is longer than the kernel.

The same numbers as `Policy.act` up to rounding (tested), in about half the time for 64 environments.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_ppo.distribution import LOG_SQRT_2PI
from reference_ppo.policy import Policy, Weights

Array = NDArray[np.float32]


class HostPolicy(Policy):
    """Feed-forward Gaussian policy whose weights lie in the host's memory."""

    def act(self, x: Tensor, state: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
        """See `Policy.act`."""
        d, k = self.spec.obs_dim, self.spec.act_dim
        rows, weights = x.numpy(), {name: value.numpy() for name, value in w.items()}
        out = np.empty((len(rows), k + 2), np.float32)  # a | log pi(a|s) | V(s)
        sample(rows[:, :d], rows[:, d : d + k], weights, self.hidden, out)
        return torch.from_numpy(out), state


def sample(s: Array, noise: Array, w: dict[str, Array], layers: int, out: Array) -> None:
    """Fill out (N, K + 2) for states (N, D) and noise (N, K)."""
    x, k = s, noise.shape[1]
    for i in range(1, layers + 1):
        x = x @ w[f"w{i}"]  # (2, N, H)
        x += w[f"b{i}"]
        np.tanh(x, out=x)
    mu = x[0] @ w["pi.w"].T + w["pi.b"]
    a = out[:, :k] = mu + np.exp(w["log_std"]) * noise
    # log N(a; mu, sigma)
    z = (mu - a) * np.exp(-w["log_std"])
    out[:, k] = -0.5 * (z * z).sum(1) - (w["log_std"].sum() + np.float32(k * LOG_SQRT_2PI))
    out[:, k + 1] = (x[1] @ w["v.w"].T)[:, 0] + w["v.b"]
