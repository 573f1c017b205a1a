"""The PPO loss with its gradient written out; autograd only runs through the networks.

The same numbers as `ppo.loss` up to rounding (tested), with about half of its kernels: autograd's backward of
min, clamp, mean and squares is some forty small kernels, and on an NPU every one costs a launch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reference_ppo.config import Config
from reference_ppo.distribution import LOG_SQRT_2PI, Gaussian
from reference_ppo.policy import Policy
from reference_ppo.ppo import PlainUpdate


class GaussianLoss(torch.autograd.Function):
    """c_v L_v - L_clip of a Gaussian policy as one node, with d/d mu, d/d log sigma and d/d V."""

    @staticmethod
    def forward(
        ctx: Any, mu: Tensor, log_std: Tensor, v: Tensor, x: Tensor, clip: float, value_coef: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """mu (B, K), log_std (K,), v (B,), x: a | log pi_old | A | R (B, K + 3)."""
        b, k = mu.shape
        a, log_p_old, advantage, returns = x[:, :k], x[:, k], x[:, k + 1], x[:, k + 2]
        inverse = torch.exp(-log_std)
        z = (a - mu) * inverse
        z2 = z * z
        # log r = -1/2 sum z^2 - sum log sigma - K log sqrt(2 pi) - log pi_old
        log_r = torch.sub(-k * LOG_SQRT_2PI - log_p_old - log_std.sum(), z2.sum(1), alpha=0.5)
        surrogate = torch.exp(log_r) * advantage
        # min(r A, clip(r) A) = min(r A, (1 + eps) A) for A > 0, min(r A, (1 - eps) A) for A < 0
        limit = advantage + clip * advantage.abs()
        objective, error = torch.minimum(surrogate, limit), v - returns
        l_clip, l_v = objective.mean(), torch.mean(error * error)
        # d L_clip / d log p = r A / B where r A is the smaller one, else 0
        weight = torch.where(surrogate <= limit, surrogate, 0.0)[:, None] * (-1 / b)
        # d log p / d mu = z / sigma,   d log p / d log sigma = z^2 - 1
        d_mu, d_log_std = weight * z * inverse, (weight * (z2 - 1)).sum(0)
        ctx.save_for_backward(d_mu, d_log_std, error * (2 * value_coef / b))
        ctx.mark_non_differentiable(l_clip, l_v, log_r)
        return torch.sub(value_coef * l_v, l_clip), l_clip, l_v, log_r

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        """The loss is where differentiation starts: its own gradient is 1."""
        return (*ctx.saved_tensors, None, None, None)


def loss(policy: Policy, rows: Tensor, config: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """See `ppo.loss`."""
    pi, v = policy.evaluate(rows)
    assert isinstance(pi, Gaussian)
    apply: Any = GaussianLoss.apply
    total, l_clip, l_v, log_r = apply(
        pi.mu, pi.log_std, v, policy.targets(rows), config.clip, config.value_coef
    )
    with torch.set_grad_enabled(config.entropy_coef != 0):
        entropy = pi.entropy()
    if config.entropy_coef:
        total = total - config.entropy_coef * entropy
    return total, {"objective": l_clip, "value_loss": l_v, "entropy": entropy, "log_r": log_r}


class AnalyticUpdate(PlainUpdate):
    """Takes the place of `PlainUpdate`, on any device and with any number of processes."""

    loss = staticmethod(loss)
