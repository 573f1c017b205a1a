"""The PPO update: clipped surrogate objective, value error, Adam; no host-device synchronisation inside."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from reference_ppo.adam import Adam
from reference_ppo.config import Config
from reference_ppo.policy import Policy, Weights
from reference_ppo.world import World

Array = NDArray[np.float32]
Seen = dict[str, Array]
SIGNALS = ("objective", "value_loss", "entropy", "grad_norm")


def loss(policy: Policy, w: Weights, rows: Tensor, config: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO loss of one minibatch.

    Args:
        policy: pi_theta and V_theta.
        w: theta by the names of the weights.
        rows: a minibatch of `policy.batch`.
        config: epsilon and the loss weights.

    Returns:
        The loss, and values for the health signals: still on the device, nothing is read here.
    """
    pi, v = policy.evaluate(rows, w)
    x = policy.targets(rows)  # a | log pi_old(a|s) | A | R, (B, K + 3)
    a, (log_p_old, advantage, returns) = x[:, :-3], x[:, -3:].unbind(1)

    # r = pi(a|s) / pi_old(a|s)
    log_r = pi.log_prob(a) - log_p_old
    r = torch.exp(log_r)
    # L_clip = E[min(r A, clip(r, 1 - eps, 1 + eps) A)]. The second term only ever bounds the first: by
    # (1 + eps) A where A > 0, by (1 - eps) A where A < 0, that is by A + eps |A|.
    bound = torch.add(advantage, advantage.abs(), alpha=config.clip)
    l_clip = (r * advantage).clamp(max=bound).mean()
    # L_v = E[(V(s) - R)^2]
    l_v = mse_loss(v, returns)
    entropy = pi.entropy()
    # minimise -L_clip + c_v L_v - c_H H
    total = config.value_coef * l_v - l_clip
    if config.entropy_coef:
        total = total - config.entropy_coef * entropy
    # Kept on the device as they are, and brought to the host after the last minibatch.
    return total, {"objective": l_clip, "value_loss": l_v, "entropy": entropy, "log_r": log_r}


def clip_gradient(g: Tensor, max_norm: float) -> Tensor:
    """Scale g (P,) in place to a norm of at most `max_norm`; returns the norm before, on the device.

    A gradient with a NaN or Inf becomes zero: one bad minibatch must not turn every weight into NaN before
    the host has seen it. The recorded norm stays non-finite, and the health check stops the run.
    """
    norm = torch.linalg.vector_norm(g)
    # g / max(1, |g| / max_norm)
    g.div_((norm / max_norm).clamp(min=1.0)).nan_to_num_(0.0, 0.0, 0.0)
    return norm


def permutations(rng: np.random.Generator, rows: int, epochs: int) -> NDArray[np.int64]:
    """A random order of the rows for each epoch, drawn on the host, (epochs, rows)."""
    return np.stack([rng.permutation(rows) for _ in range(epochs)])


class PlainUpdate:
    """All epochs over one rollout, with autograd."""

    loss = staticmethod(loss)

    def __init__(self, policy: Policy, adam: Adam, config: Config, world: World | None = None) -> None:
        self.policy, self.adam, self.config = policy, adam, config
        self.world = world or World(0, 1, policy.theta.device)
        self.size = config.minibatch // policy.sequence // self.world.size  # rows of this process
        # What autograd differentiates by: the weights one by one, in theta's own memory. It would also follow
        # the cutting of theta, for the same gradient, but that costs it 7% of a minibatch.
        self.leaves = {name: x.requires_grad_() for name, x in policy.cut(adam.theta).items()}

    def __call__(self, data: Tensor, order: NDArray[np.int64]) -> Seen:
        """One copy to the device (the orders) and one back (the signals); nothing is read in between.

        Args:
            data: `policy.batch` of the rollout, on the device.
            order: (epochs, rows).

        Returns:
            Per minibatch (M,): objective, value_loss, entropy, grad_norm; log_r (M, B). On the host.
        """
        seen: list[dict[str, Tensor]] = []
        for epoch in torch.from_numpy(order).to(data.device):
            for rows in data.index_select(0, epoch).split(self.size):  # one gather per epoch
                seen.append(self.minibatch(rows))
        return read(seen)

    def minibatch(self, rows: Tensor) -> dict[str, Tensor]:
        """One step of Adam."""
        total, signals = self.loss(self.policy, self.leaves, rows, self.config)
        gradients = torch.autograd.grad(total, tuple(self.leaves.values()))
        g = torch.cat([d.flatten() for d in gradients])  # in the order of theta, (P,)
        self.world.average(g)
        # Without their graphs, which would stay in memory until the last minibatch: 3% of the time.
        signals = {name: x.detach() for name, x in signals.items()}
        signals["grad_norm"] = clip_gradient(g, self.config.max_grad_norm)
        self.adam.step(g)
        return signals


@torch.no_grad()
def read(seen: list[dict[str, Tensor]]) -> Seen:
    """Bring the signals of all minibatches to the host in one copy."""
    scalars = torch.stack([s[name] for s in seen for name in SIGNALS]).view(len(seen), -1)  # (M, 4)
    packed = torch.cat([scalars, torch.stack([s["log_r"] for s in seen])], 1).cpu().numpy()  # (M, 4 + B)
    out = {name: packed[:, i] for i, name in enumerate(SIGNALS)}
    out["log_r"] = packed[:, len(SIGNALS) :]
    return out
