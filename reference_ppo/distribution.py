"""Gaussian and categorical policies, written out.

torch.distributions checks its arguments by default, and each check reads a value back from the device: two
per construction, one per `log_prob`. On an accelerator every one of them drains the queue.
Noise comes in as an argument: it is drawn on the host, so every device sees the same.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class Gaussian:
    """a = mu + sigma * noise, one sigma per action dimension for all states."""

    def __init__(self, mu: Tensor, log_std: Tensor, squash: bool = False) -> None:
        self.mu, self.log_std, self.squash = mu, log_std, squash  # (B, K), (K,)

    def sample(self, noise: Tensor) -> Tensor:
        """(B, K) standard normal -> (B, K). Before tanh, if the policy squashes."""
        return self.mu + torch.exp(self.log_std) * noise

    def mode(self) -> Tensor:
        """(B, K)."""
        return self.mu

    def log_prob(self, u: Tensor) -> Tensor:
        """log pi(a|s), (B,). With squash, of a = tanh(u), given u: log N(u) - sum log(1 - tanh(u)^2)."""
        # log N(u; mu, sigma) = -1/2 ((mu - u) / sigma)^2 - log sigma - log sqrt(2 pi), summed over dimensions
        z = (self.mu - u) * torch.exp(-self.log_std)
        log_p = -u.shape[-1] * LOG_SQRT_2PI - torch.add(self.log_std, z * z, alpha=0.5).sum(-1)
        if self.squash:
            # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), which stays finite for large |u|
            log_p = log_p - 2 * (math.log(2) - u - torch.nn.functional.softplus(-2 * u)).sum(-1)
        return log_p

    def entropy(self) -> Tensor:
        """(), mean over states; of the Gaussian before tanh, which has no closed form."""
        # H = sum over dimensions of log sigma + 1/2 log(2 pi e)
        return self.log_std.sum() + self.mu.shape[-1] * (0.5 + LOG_SQRT_2PI)


class Categorical:
    """One of K choices."""

    def __init__(self, logits: Tensor) -> None:
        self.log_p = torch.log_softmax(logits, -1)  # (B, K)

    def sample(self, noise: Tensor) -> Tensor:
        """(B, K) standard Gumbel -> (B, 1), the index as float: argmax(log p + noise) is distributed as p."""
        return torch.argmax(self.log_p + noise, -1, keepdim=True).to(noise.dtype)

    def mode(self) -> Tensor:
        """(B, 1)."""
        return torch.argmax(self.log_p, -1, keepdim=True).to(self.log_p.dtype)

    def log_prob(self, a: Tensor) -> Tensor:
        """(B, 1) indices -> (B,)."""
        return self.log_p.gather(-1, a.long()).squeeze(-1)

    def entropy(self) -> Tensor:
        """(), mean over states: H = -sum p log p."""
        return -(torch.exp(self.log_p) * self.log_p).sum(-1).mean()
