"""The faster forms of the update give the numbers of the plain one."""

from __future__ import annotations

import shutil
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from reference_ppo import analytic
from reference_ppo.by_hand import NumpyUpdate
from reference_ppo.compiled import make_step
from reference_ppo.config import Config
from reference_ppo.ppo import loss
from reference_ppo.train import Trainer

SMALL = Config(num_envs=8, rollout_steps=512, epochs=2, eval_episodes=4, minibatch=64, entropy_coef=0.01)


def after(config: Config, updates: int = 2) -> tuple[np.ndarray, dict]:
    trainer = Trainer(config)
    try:
        events = [trainer.iteration() for _ in range(updates)]
    finally:
        trainer.close()
    return trainer.policy.theta.detach().numpy(), events[-1]["health"]


@pytest.mark.parametrize("env", ["reach", "CartPole-v1"])
def test_numpy_form(env: str) -> None:
    plain, health = after(replace(SMALL, env=env))
    ours, ours_health = after(replace(SMALL, env=env, update="numpy"))
    assert ours == pytest.approx(plain, abs=2e-5)
    for key in ("approx_kl", "entropy", "value_loss", "policy_loss", "grad_norm"):
        assert ours_health[key] == pytest.approx(health[key], rel=2e-3, abs=1e-5), key


@pytest.mark.parametrize("env", ["reach", "CartPole-v1"])
def test_gradient_by_hand_is_the_one_of_autograd(env: str) -> None:
    trainer = Trainer(replace(SMALL, env=env, update="numpy"))
    trainer.iteration()
    update = trainer.update
    assert isinstance(update, NumpyUpdate)
    trainer.buffer.log_p += (
        np.random.default_rng(0).normal(0, 0.3, trainer.buffer.log_p.shape).astype(np.float32)
    )
    rows = trainer.policy.batch(trainer.buffer, [])
    update.gradient(rows.numpy())
    total, _ = loss(trainer.policy, trainer.policy.weights(), rows, trainer.config)
    (g,) = torch.autograd.grad(total, trainer.policy.theta)
    assert float(g.norm()) > 0.01
    assert update.g == pytest.approx(g.numpy(), rel=1e-3, abs=2e-6)
    trainer.close()


def test_functional_step_equals_plain_minibatches() -> None:
    """What `compiled` compiles, before the compiler: two minibatches in one graph."""
    trainer = Trainer(SMALL)
    trainer.iteration()
    size = trainer.update.size
    rows = trainer.policy.batch(trainer.buffer, [])[: 2 * size]
    assert len(rows) == 2 * size
    adam = trainer.adam
    theta, m, v = (x.clone() for x in (adam.theta, adam.m, adam.v))
    ahead = copy(adam)
    scales = torch.tensor([ahead.next_scales() for _ in range(2)])
    seen = make_step(trainer.policy, SMALL)(theta, m, v, scales, rows)
    expected = [trainer.update.minibatch(part) for part in rows.split(size)]
    torch.testing.assert_close(theta, adam.theta, rtol=0, atol=2e-6)
    torch.testing.assert_close(m, adam.m, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(v, adam.v, rtol=1e-4, atol=1e-9)
    for ours, theirs in zip(seen, expected):
        torch.testing.assert_close(ours["grad_norm"], theirs["grad_norm"], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(ours["log_r"], theirs["log_r"], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("changes", [{}, {"entropy_coef": 0.0}, {"recurrent": True}])
def test_analytic_form(changes: dict) -> None:
    plain, health = after(replace(SMALL, **changes))
    ours, ours_health = after(replace(SMALL, update="analytic", **changes))
    assert ours == pytest.approx(plain, abs=2e-5)
    for key in ("approx_kl", "entropy", "value_loss", "policy_loss", "grad_norm"):
        assert ours_health[key] == pytest.approx(health[key], rel=2e-3, abs=1e-5), key


def test_analytic_gradient_with_clipped_ratios() -> None:
    trainer = Trainer(SMALL)
    trainer.iteration()
    trainer.buffer.log_p += (
        np.random.default_rng(0).normal(0, 0.3, trainer.buffer.log_p.shape).astype(np.float32)
    )
    rows = trainer.policy.batch(trainer.buffer, [])
    gradients = []
    for form in (loss, analytic.loss):
        total, _ = form(trainer.policy, trainer.policy.weights(), rows, SMALL)
        gradients.append(torch.autograd.grad(total, trainer.policy.theta)[0])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=2e-6)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_form() -> None:
    plain, health = after(SMALL)
    ours, ours_health = after(replace(SMALL, update="compiled"))
    assert ours == pytest.approx(plain, abs=5e-5)
    assert ours_health["approx_kl"] == pytest.approx(health["approx_kl"], rel=1e-2)
