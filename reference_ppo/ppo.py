"""The PPO update: clipped surrogate objective, value error, Adam; no host-device synchronisation inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_ppo.config import Config
from reference_ppo.policy import Policy

Array = NDArray[np.float32]
Seen = dict[str, Array]
SIGNALS = ("policy_loss", "value_loss", "entropy", "grad_norm")


def loss(policy: Policy, rows: Tensor, config: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO loss of one minibatch.

    Args:
        policy: pi_theta and V_theta.
        rows: a minibatch of `policy.batch`.
        config: epsilon and the loss weights.

    Returns:
        The loss, and detached values for the health signals: still on the device, nothing is read here.
    """
    pi, v = policy.evaluate(rows)
    x = policy.targets(rows)  # a | log pi_old(a|s) | A | R, (B, K + 3)
    a, log_p_old, advantage, returns = x[:, :-3], x[:, -3], x[:, -2], x[:, -1]

    # r = pi(a|s) / pi_old(a|s)
    log_r = pi.log_prob(a) - log_p_old
    r = torch.exp(log_r)
    # L_clip = E[min(r A, clip(r, 1 - eps, 1 + eps) A)]
    l_clip = torch.min(r * advantage, r.clamp(1 - config.clip, 1 + config.clip) * advantage).mean()
    # L_v = E[(V(s) - R)^2]
    l_v = (v - returns).square().mean()
    entropy = pi.entropy()
    # minimise -L_clip + c_v L_v - c_H H
    total = config.value_coef * l_v - l_clip
    if config.entropy_coef:
        total = total - config.entropy_coef * entropy
    return total, {
        "policy_loss": -l_clip.detach(),
        "value_loss": l_v.detach(),
        "entropy": entropy.detach(),
        "log_r": log_r.detach(),
    }


def clip_gradient(g: Tensor, max_norm: float) -> Tensor:
    """Scale g (P,) in place to at most `max_norm`; returns the norm before, on the device.

    A gradient with a NaN or Inf becomes zero: one bad minibatch must not turn every weight into NaN before
    the host has seen it. The recorded norm stays non-finite, and the health check stops the run.
    """
    norm = torch.linalg.vector_norm(g)
    g.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0)).nan_to_num_(0.0, 0.0, 0.0)
    return norm


def make_optimizer(policy: Policy, config: Config) -> torch.optim.Adam:
    """Adam on the one vector theta; one kernel per step where the device has a fused one."""
    fused = policy.theta.device.type in ("cpu", "cuda")
    return torch.optim.Adam([policy.theta], lr=config.lr, eps=config.adam_eps, fused=fused)


def permutations(rng: np.random.Generator, rows: int, epochs: int) -> NDArray[np.int64]:
    """A random order of the rows for each epoch, drawn on the host, (epochs, rows)."""
    return np.stack([rng.permutation(rows) for _ in range(epochs)])


def no_reduction(g: Tensor) -> None:
    """A single process has nothing to average."""


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    data: Tensor,
    order: NDArray[np.int64],
    config: Config,
    reduce: Callable[[Tensor], None] = no_reduction,
) -> Seen:
    """All epochs over one rollout. One copy to the device (the orders), one back (the signals).

    Args:
        policy: changed in place.
        optimizer: of `policy.theta`.
        data: `policy.batch` of the rollout, on the device.
        order: (epochs, rows).
        config: settings.
        reduce: averages the gradient (P,) in place over all processes of a distributed run.

    Returns:
        Per minibatch (M,): policy_loss, value_loss, entropy, grad_norm; log_r (M, B). On the host.
    """
    index = torch.from_numpy(order).to(data.device)
    seen: list[dict[str, Tensor]] = []
    for epoch in index:
        for chunk in epoch.split(config.minibatch // policy.sequence):
            total, signals = loss(policy, data[chunk], config)
            (g,) = torch.autograd.grad(total, policy.theta)
            reduce(g)
            signals["grad_norm"] = clip_gradient(g, config.max_grad_norm)
            policy.theta.grad = g
            optimizer.step()
            seen.append(signals)
    return read(seen)


def read(seen: list[dict[str, Tensor]]) -> Seen:
    """Bring the signals of all minibatches to the host in one copy."""
    scalars = torch.stack([torch.stack([s[name] for name in SIGNALS]) for s in seen])  # (M, 4)
    packed = torch.cat([scalars, torch.stack([s["log_r"] for s in seen])], 1).cpu().numpy()  # (M, 4 + B)
    out = {name: packed[:, i] for i, name in enumerate(SIGNALS)}
    out["log_r"] = packed[:, len(SIGNALS) :]
    return out
