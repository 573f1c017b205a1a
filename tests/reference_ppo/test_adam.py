"""Adam written out against PyTorch's."""

from __future__ import annotations

import torch

from reference_ppo.adam import Adam


def test_agrees_with_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    theta = torch.nn.Parameter(torch.randn(50, generator=generator))
    ours = Adam(theta.detach().clone(), lr=1e-2, eps=1e-5)
    theirs = torch.optim.Adam([theta], lr=1e-2, eps=1e-5)
    for step in range(200):
        g = torch.randn(50, generator=generator) * 10.0 ** -(step % 7)
        theta.grad = g.clone()
        theirs.step()
        ours.step(g)
    torch.testing.assert_close(ours.theta, theta.detach(), rtol=0, atol=1e-5)


def test_the_first_step_has_the_size_of_the_learning_rate() -> None:
    """Bias correction: without it the first step would be lr (1 - b1) / sqrt(1 - b2), three times lr."""
    adam = Adam(torch.zeros(2), lr=0.1, eps=1e-8)
    adam.step(torch.tensor([3.0, -0.02]))
    torch.testing.assert_close(adam.theta, torch.tensor([-0.1, 0.1]))


def test_moves_the_memory_of_the_parameter_it_was_given() -> None:
    theta = torch.nn.Parameter(torch.zeros(3))
    Adam(theta, lr=0.1, eps=1e-8).step(torch.ones(3))
    assert theta.detach().max() < -0.09
