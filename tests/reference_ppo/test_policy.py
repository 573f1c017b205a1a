"""Policy: one vector theta, deterministic start, packed acting."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reference_ppo.envs.make import Spec
from reference_ppo.host import HostPolicy
from reference_ppo.policy import Policy, orthogonal

EMPTY = np.zeros(0, np.float32)
BOX = Spec(5, 2, False, -np.ones(2, np.float32), np.ones(2, np.float32))
CHOICE = Spec(4, 3, True, EMPTY, EMPTY)


def test_weights_are_views_of_theta() -> None:
    policy = Policy(BOX)
    assert sum(w.numel() for w in policy.weights().values()) == policy.theta.numel()
    with torch.no_grad():
        policy.theta.zero_()
        assert all(not w.any() for w in policy.weights().values())


def test_start_depends_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    a = Policy(BOX, seed=5).theta
    torch.manual_seed(2)
    assert torch.equal(a, Policy(BOX, seed=5).theta)
    assert not torch.equal(a, Policy(BOX, seed=6).theta)


@pytest.mark.parametrize("shape", [(64, 5), (5, 64), (64, 64)])
def test_orthogonal(shape: tuple[int, int]) -> None:
    w = orthogonal(shape, 2.0, np.random.default_rng(0)).astype(np.float64)
    gram = w @ w.T if shape[0] <= shape[1] else w.T @ w
    assert gram == pytest.approx(4 * np.eye(min(shape)), abs=1e-5)


@pytest.mark.parametrize("spec", [BOX, CHOICE])
def test_act_packs_action_log_prob_and_value(spec: Spec) -> None:
    policy = Policy(spec, seed=1)
    s, noise = torch.randn(6, spec.obs_dim), torch.randn(6, spec.act_dim)
    out, _ = policy.act(torch.cat([s, noise, torch.ones(6, 1)], 1), torch.zeros(6, 0), policy.weights())
    pi, v = policy(s)
    k = 1 if spec.discrete else spec.act_dim
    torch.testing.assert_close(out[:, :k], pi.sample(noise))
    torch.testing.assert_close(out[:, k], pi.log_prob(out[:, :k]))
    torch.testing.assert_close(out[:, k + 1], v)


def test_acting_in_numpy_gives_the_same_numbers() -> None:
    policy, host = Policy(BOX, seed=1), HostPolicy(BOX, seed=1)
    x, state = torch.randn(64, 5 + 2 + 1), torch.zeros(64, 0)
    with torch.no_grad():
        for p in (policy, host):
            p.theta += torch.linspace(-0.2, 0.2, len(p.theta))  # else biases and log sigma are 0
        expected, _ = policy.act(x, state, policy.weights())
        out, after = host.act(x, state, host.weights())
        v = host.value(x[:, :5], state)
    torch.testing.assert_close(v, expected[:, 3], rtol=1e-5, atol=5e-6)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=5e-6)
    assert after is state
    assert float((out[:, 2] - out[0, 2]).abs().max()) > 0.1


def test_a_squashing_policy_gives_the_environment_tanh_of_its_sample() -> None:
    """log pi is that of a = tanh(u), so tanh(u) is what has to act; the buffer keeps u."""
    low, high = np.full(2, -2, np.float32), np.full(2, 2, np.float32)
    u = np.array([[0.5, -3.0]], np.float32)
    squashing = Policy(Spec(3, 2, False, low, high), squash=True, seed=1)
    np.testing.assert_allclose(squashing.to_env(u), 2 * np.tanh(u), rtol=1e-6)
    clipping = Policy(Spec(3, 2, False, low, high), seed=1)
    np.testing.assert_allclose(clipping.to_env(u), [[1.0, -2.0]])


def test_to_env_clips_and_stretches_bounded_dimensions_only() -> None:
    spec = Spec(1, 3, False, np.array([-2, 0, -np.inf], np.float32), np.array([2, 10, np.inf], np.float32))
    a = np.array([[5.0, -0.5, 7.0]], np.float32)
    assert spec.to_env(a).tolist() == [[2.0, 2.5, 7.0]]
    assert Spec(1, 3, True, EMPTY, EMPTY, start=5).to_env(np.array([[2.0]], np.float32)).tolist() == [7]
