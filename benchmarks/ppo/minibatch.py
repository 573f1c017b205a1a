"""Minibatches of PPO in the reference's forms or the conventional one: `minibatch.py FORM COUNT DEVICE`.

The conventional form is CleanRL's design in our own words: a module per layer, torch.distributions, advantage
normalisation per minibatch, one tensor per weight, `clip_grad_norm_`, Adam with its defaults, and the usual
figures read at the end of every update. kernels.py runs both on the simulated NPU and counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reference_ppo.adam import Adam
from reference_ppo.analytic import AnalyticUpdate
from reference_ppo.config import Config
from reference_ppo.envs.make import Spec
from reference_ppo.policy import Policy
from reference_ppo.ppo import PlainUpdate

D, K, B = 9, 2, 256


class Conventional(nn.Module):
    """Actor and critic of 64 x 64 tanh units."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(
            nn.Linear(D, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.actor_mean = nn.Sequential(
            nn.Linear(D, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, K)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, K))

    def evaluate(self, x: torch.Tensor, action: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mean = self.actor_mean(x)
        probs = torch.distributions.Normal(mean, torch.exp(self.actor_logstd.expand_as(mean)))
        return probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


def conventional(rows: torch.Tensor, count: int) -> None:
    net = Conventional().to(rows.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, eps=1e-5)
    for _ in range(count):
        mb = torch.arange(B, device=rows.device)
        obs, action, old = rows[mb, :D], rows[mb, D : D + K], rows[mb, -3]
        advantage, returns = rows[mb, -2], rows[mb, -1]
        log_prob, entropy, value = net.evaluate(obs, action)
        log_ratio = log_prob - old
        ratio = log_ratio.exp()
        with torch.no_grad():
            _ = (
                (-log_ratio).mean(),
                ((ratio - 1) - log_ratio).mean(),
                ((ratio - 1.0).abs() > 0.2).float().mean(),
            )
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        loss_1, loss_2 = -advantage * ratio, -advantage * torch.clamp(ratio, 0.8, 1.2)
        v_loss = 0.5 * ((value.view(-1) - returns) ** 2).mean()
        loss = torch.max(loss_1, loss_2).mean() - 0.0 * entropy.mean() + 0.5 * v_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()


def reference(rows: torch.Tensor, count: int, form: type[PlainUpdate] = PlainUpdate) -> None:
    spec = Spec(D, K, False, -np.ones(K, np.float32), np.ones(K, np.float32))
    policy = Policy(spec).to(rows.device)
    config = Config()
    update = form(policy, Adam(policy.theta, config.lr, config.adam_eps), config)
    order = np.arange(B)[None].repeat(count, 0)
    update(rows, order)


if __name__ == "__main__":
    data = torch.from_numpy(np.random.default_rng(0).normal(size=(B, D + K + 3)).astype(np.float32))
    forms = {
        "plain": reference,
        "analytic": lambda rows, count: reference(rows, count, AnalyticUpdate),
        "conventional": conventional,
    }
    forms[sys.argv[1]](data.to(sys.argv[3]), int(sys.argv[2]))
