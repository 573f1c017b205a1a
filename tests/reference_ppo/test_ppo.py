"""The update against hand computation and against the conventional form of PPO in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from reference_ppo.adam import Adam
from reference_ppo.config import Config
from reference_ppo.envs.make import Spec
from reference_ppo.policy import Policy
from reference_ppo.ppo import PlainUpdate, clip_gradient, loss, permutations

SPEC = Spec(5, 2, False, -np.ones(2, np.float32), np.ones(2, np.float32))
CONFIG = Config(num_envs=4, rollout_steps=128, minibatch=32, epochs=2, entropy_coef=0.01)


def rollout(policy: Policy, rows: int = 128, seed: int = 0) -> torch.Tensor:
    """s | a | log pi_old | A | R, with old log-probabilities a little off so that some ratios are clipped."""
    g = torch.Generator().manual_seed(seed)
    s, noise = torch.randn(rows, 5, generator=g), torch.randn(rows, 2, generator=g)
    with torch.no_grad():
        pi, _ = policy(s)
        a = pi.sample(noise)
        old = pi.log_prob(a) + 0.2 * torch.randn(rows, generator=g)
    rest = torch.randn(rows, 2, generator=g)
    return torch.cat([s, a, old[:, None], rest], 1)


def plain_update(policy: Policy) -> PlainUpdate:
    return PlainUpdate(policy, Adam(policy.theta, CONFIG.lr, CONFIG.adam_eps), CONFIG)


@pytest.mark.parametrize(
    ("log_r", "advantage", "expected"),
    [
        (0.0, 2.0, 2.0),
        (0.5, 2.0, 2.4),
        (-0.5, 2.0, 2 * np.exp(-0.5)),
        (0.5, -2.0, -2 * np.exp(0.5)),
        (-0.5, -2.0, -1.6),
    ],
)
def test_clipped_objective_by_hand(log_r: float, advantage: float, expected: float) -> None:
    policy = Policy(SPEC, seed=1)
    rows = rollout(policy, 1)
    with torch.no_grad():
        pi, v = policy(rows[:, :5])
        rows[0, 7] = pi.log_prob(rows[:, 5:7])[0] - log_r
    rows[0, 8], rows[0, 9] = advantage, float(v) - 3.0
    total, seen = loss(policy, policy.weights(), rows, CONFIG)
    assert float(seen["objective"].detach()) == pytest.approx(expected, rel=1e-4)
    assert float(seen["value_loss"].detach()) == pytest.approx(9.0, rel=1e-4)
    assert float(total.detach()) == pytest.approx(
        -expected + 4.5 - 0.01 * float(seen["entropy"].detach()), rel=1e-4
    )


class Conventional(nn.Module):
    """What most code does: one module per layer, torch.distributions, a parameter list."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.v = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.log_std = nn.Parameter(torch.zeros(2))
        with torch.no_grad():
            for own, theirs in self.pairs(policy):
                own.copy_(theirs)

    def pairs(self, policy: Policy) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Each parameter and the part of theta that it corresponds to."""
        w = policy.weights()
        for i, (net, name) in enumerate(((self.pi, "pi"), (self.v, "v"))):
            for layer, own in ((1, net[0]), (2, net[2])):
                yield own.weight, w[f"w{layer}"][i].T
                yield own.bias, w[f"b{layer}"][i, 0]
            yield net[4].weight, w[f"{name}.w"]
            yield net[4].bias, w[f"{name}.b"]
        yield self.log_std, w["log_std"]


def conventional_update(net: Conventional, data: torch.Tensor, order: np.ndarray) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=CONFIG.lr, eps=CONFIG.adam_eps)
    for epoch in torch.from_numpy(order):
        for chunk in epoch.split(CONFIG.minibatch):
            x = data[chunk]
            s, a, old, adv, ret = x[:, :5], x[:, 5:7], x[:, 7], x[:, 8], x[:, 9]
            pi = torch.distributions.Normal(net.pi(s), net.log_std.exp())
            r = torch.exp(pi.log_prob(a).sum(-1) - old)
            l_pi = -torch.min(r * adv, torch.clamp(r, 0.8, 1.2) * adv).mean()
            l_v = nn.functional.mse_loss(net.v(s).squeeze(-1), ret)
            optimizer.zero_grad()
            (l_pi + 0.5 * l_v - 0.01 * pi.entropy().sum(-1).mean()).backward()
            nn.utils.clip_grad_norm_(net.parameters(), CONFIG.max_grad_norm)
            optimizer.step()


def test_equals_the_conventional_form() -> None:
    policy = Policy(SPEC, seed=3)
    net, data = Conventional(policy), rollout(policy)
    order = permutations(np.random.default_rng(0), 128, 2)
    before = policy.theta.detach().clone()
    conventional_update(net, data, order)
    seen = plain_update(policy)(data, order)
    assert float((policy.theta.detach() - before).abs().max()) > 1e-3
    compared = 0
    for theirs, own in net.pairs(policy):
        torch.testing.assert_close(own.detach(), theirs.detach(), rtol=0, atol=2e-6)
        compared += own.numel()
    assert compared == policy.theta.numel()
    assert seen["log_r"].shape == (8, 32)


def test_clip_gradient() -> None:
    g = torch.tensor([3.0, 4.0])
    assert float(clip_gradient(g, 0.5)) == pytest.approx(5)
    assert g.tolist() == pytest.approx([0.3, 0.4], rel=1e-5)
    small = torch.tensor([0.03, 0.04])
    clip_gradient(small, 0.5)
    assert small.tolist() == pytest.approx([0.03, 0.04])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_gradient_moves_no_weight(bad: float) -> None:
    g = torch.tensor([1.0, bad])
    assert not torch.isfinite(clip_gradient(g, 0.5))
    assert g.tolist() == [0.0, 0.0]


class Count(TorchDispatchMode):
    """Names of all operators that reach the device."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_nothing_is_read_back_inside_the_update() -> None:
    policy = Policy(SPEC, seed=3)
    data, order = rollout(policy), permutations(np.random.default_rng(0), 128, 2)
    update = plain_update(policy)
    with Count() as count:
        update(data, order)
    assert count.names.count("_local_scalar_dense") == 0
    assert "nonzero" not in count.names
