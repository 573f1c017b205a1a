"""The written-out distributions against torch.distributions and against their definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import distributions as td

from reference_ppo.distribution import Categorical, Gaussian

GENERATOR = torch.Generator().manual_seed(0)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=GENERATOR)


def test_gaussian_agrees_with_torch() -> None:
    mu, log_std, u = normal(7, 3), normal(3), normal(7, 3)
    ours, theirs = Gaussian(mu, log_std), td.Independent(td.Normal(mu, log_std.exp().expand(7, 3)), 1)
    torch.testing.assert_close(ours.log_prob(u), theirs.log_prob(u))
    torch.testing.assert_close(ours.entropy(), theirs.entropy().mean())
    noise = normal(7, 3)
    torch.testing.assert_close(ours.sample(noise), mu + log_std.exp() * noise)


def test_squashed_log_prob_agrees_with_torch_and_stays_finite() -> None:
    mu, log_std, u = normal(7, 2), normal(2), normal(7, 2)
    base = td.Normal(mu.double(), log_std.double().exp().expand(7, 2))
    theirs = td.TransformedDistribution(base, td.TanhTransform()).log_prob(torch.tanh(u.double())).sum(-1)
    torch.testing.assert_close(
        Gaussian(mu, log_std, squash=True).log_prob(u).double(), theirs, rtol=1e-4, atol=1e-4
    )
    far = Gaussian(torch.zeros(1, 2), torch.zeros(2), squash=True).log_prob(torch.full((1, 2), 40.0))
    assert torch.isfinite(far).all()


def test_squashed_density_integrates_to_one() -> None:
    a = torch.linspace(-1 + 1e-4, 1 - 1e-4, 20001, dtype=torch.float64)[:, None]
    pi = Gaussian(
        torch.full((1, 1), 0.3, dtype=torch.float64), torch.tensor([-0.5], dtype=torch.float64), squash=True
    )
    density = torch.exp(pi.log_prob(torch.atanh(a)))
    assert float(torch.trapezoid(density, a[:, 0])) == pytest.approx(1, abs=1e-3)


def test_categorical_agrees_with_torch() -> None:
    logits = normal(5, 4)
    ours, theirs = Categorical(logits), td.Categorical(logits=logits)
    a = torch.tensor([[0.0], [3.0], [1.0], [2.0], [2.0]])
    torch.testing.assert_close(ours.log_prob(a), theirs.log_prob(a[:, 0]))
    torch.testing.assert_close(ours.entropy(), theirs.entropy().mean())
    assert torch.equal(ours.mode()[:, 0], logits.argmax(-1).float())


def test_gumbel_noise_samples_the_distribution() -> None:
    p = torch.tensor([0.1, 0.6, 0.3])
    noise = torch.from_numpy(np.random.default_rng(0).gumbel(size=(40_000, 3)).astype(np.float32))
    a = Categorical(p.log().expand(40_000, 3)).sample(noise)[:, 0].long()
    assert np.bincount(a.numpy()) / 40_000 == pytest.approx(p.numpy(), abs=0.01)
