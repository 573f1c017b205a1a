"""The reach task: single and vectorised form agree bit for bit, and gymnasium accepts both."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from reference_ppo.envs import register
from reference_ppo.envs.reach import HOLD, ReachEnv, ReachVectorEnv


def test_single_and_vector_give_the_same_numbers() -> None:
    n, rng = 5, np.random.default_rng(0)
    vector, singles = ReachVectorEnv(n), [ReachEnv() for _ in range(n)]
    obs, _ = vector.reset(seed=7)
    assert np.array_equal(obs, np.stack([e.reset(seed=7 + i)[0] for i, e in enumerate(singles)]))
    for _ in range(450):  # more than two episodes
        a = rng.normal(0, 2, (n, 2)).astype(np.float32)
        obs, r, terminated, truncated, infos = vector.step(a)
        for i, env in enumerate(singles):
            o, ri, te, tr, info = env.step(a[i])
            assert (ri, te, tr) == (r[i], terminated[i], truncated[i])
            assert info["success"] == infos["success"][i]
            if tr:
                assert np.array_equal(o, infos["final_obs"][i])
                o, _ = env.reset()
            assert np.array_equal(o, obs[i])


def test_gymnasium_accepts_it() -> None:
    register()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(ReachEnv(), skip_render_check=True)
        check_env(gym.make("reference_ppo/Reach-v0", reward="sparse").unwrapped, skip_render_check=True)
    vec = gym.make_vec("reference_ppo/Reach-v0", num_envs=3, vectorization_mode="vector_entry_point")
    obs, _ = vec.reset(seed=0)
    assert obs in vec.observation_space


def test_observations_stay_in_the_space() -> None:
    env, rng = ReachEnv(), np.random.default_rng(1)
    env.reset(seed=1)
    for _ in range(200):
        obs, *_ = env.step(rng.choice([-1.0, 1.0], 2).astype(np.float32))
        assert env.observation_space.contains(obs)


def proportional_derivative(obs: np.ndarray) -> np.ndarray:
    return np.clip(16 * obs[:, 4:6] - 6 * obs[:, 2:4], -1, 1).astype(np.float32)


def test_a_good_controller_succeeds_and_a_random_one_does_not() -> None:
    for policy, expected in (
        (proportional_derivative, 1.0),
        (lambda o: np.random.default_rng(0).uniform(-1, 1, (64, 2)), 0.0),
    ):
        env = ReachVectorEnv(64)
        obs, _ = env.reset(seed=0)
        infos: dict = {}
        for _ in range(200):
            obs, _, _, truncated, infos = env.step(policy(obs))
        assert truncated.all()
        assert infos["final_info"]["success"].mean() == expected


def test_success_needs_holding_still() -> None:
    env = ReachEnv(max_steps=HOLD)
    env.reset(seed=0)
    env.px, env.py = env.gx, env.gy
    for step in range(1, HOLD + 1):
        *_, truncated, info = env.step(np.zeros(2, np.float32))
        assert info["success"] == (step == HOLD)
    assert truncated
