"""GAE against hand computation and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from reference_ppo.gae import gae


def column(*values: float, kind: type = np.float32) -> np.ndarray:
    return np.array(values, kind)[:, None]


def run(r, v, nv, term=None, trunc=None, gamma=0.9, lam=0.8):
    none = [0] * len(r)
    a, ret = gae(
        column(*r),
        column(*v),
        column(*nv),
        column(*(term or none), kind=bool),
        column(*(trunc or none), kind=bool),
        gamma,
        lam,
    )
    return a[:, 0], ret[:, 0]


def test_by_hand() -> None:
    # delta = [1 + .9*.6 - .5, 2 + .9*.7 - .6, 3 + .9*.4 - .7] = [1.04, 2.03, 2.66]; carry .72
    a, ret = run([1, 2, 3], [0.5, 0.6, 0.7], [0.6, 0.7, 0.4])
    assert a == pytest.approx([1.04 + 0.72 * (2.03 + 0.72 * 2.66), 2.03 + 0.72 * 2.66, 2.66], rel=1e-6)
    assert ret == pytest.approx(a + np.array([0.5, 0.6, 0.7]), rel=1e-6)


def test_termination_cuts_and_ignores_the_next_value() -> None:
    a, _ = run([1, 2, 3], [0.5, 0.6, 0.7], [0.6, 1e6, 0.4], term=[0, 1, 0])
    assert a == pytest.approx([1.04 + 0.72 * 1.4, 1.4, 2.66], rel=1e-6)


def test_truncation_bootstraps_the_final_observation_but_does_not_leak() -> None:
    a, _ = run([1, 2, 3], [0.5, 0.6, 0.7], [0.6, 5.0, 0.4], trunc=[0, 1, 0])
    cut = 2 + 0.9 * 5.0 - 0.6
    assert a == pytest.approx([1.04 + 0.72 * cut, cut, 2.66], rel=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_closed_form_for_constant_reward_and_value(lam: float) -> None:
    # With r = 1 and V = 1 / (1 - gamma) everywhere every delta is 0; with V = 0 and lambda = 1 the advantage
    # is the discounted sum (1 - gamma^n) / (1 - gamma) plus nothing.
    n, gamma = 50, 0.95
    v = 1 / (1 - gamma)
    a, _ = run([1] * n, [v] * n, [v] * n, gamma=gamma, lam=lam)
    assert a == pytest.approx(0, abs=1e-4)
    a, _ = run([1] * n, [0] * n, [0] * n, gamma=gamma, lam=lam)
    k = gamma * lam
    steps = np.arange(n, 0, -1)
    assert a == pytest.approx((1 - k**steps) / (1 - k), rel=1e-5)


def test_lambda_one_gives_the_discounted_return() -> None:
    rng = np.random.default_rng(0)
    r, v = rng.normal(size=20), rng.normal(size=21)
    _, ret = run(r, v[:-1], v[1:], gamma=0.9, lam=1.0)
    expected = sum(0.9**i * r[i] for i in range(20)) + 0.9**20 * v[20]
    assert ret[0] == pytest.approx(expected, rel=1e-5)


def test_environments_do_not_mix() -> None:
    rng = np.random.default_rng(1)
    r, v, nv = (rng.normal(size=(10, 3)).astype(np.float32) for _ in range(3))
    term, trunc = rng.random((10, 3)) < 0.2, rng.random((10, 3)) < 0.2
    whole, _ = gae(r, v, nv, term, trunc, 0.99, 0.95)
    for i in range(3):
        one, _ = gae(*(x[:, i : i + 1] for x in (r, v, nv, term, trunc)), 0.99, 0.95)
        assert np.array_equal(whole[:, i], one[:, 0])
