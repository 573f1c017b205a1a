"""One training run of one contender, as one JSON line; speed.py starts each in a process of its own."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

# Before NumPy is loaded: one thread for every contender.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reference_ppo.config import Config  # noqa: E402
from reference_ppo.envs.reach import ReachEnv, ReachVectorEnv  # noqa: E402
from reference_ppo.evaluate import FIRST_SEED  # noqa: E402
from reference_ppo.train import Trainer  # noqa: E402

EVALUATION_EPISODES = 128
GOAL = 0.9


class Clock:
    """Wall and CPU seconds of training alone: evaluation stops the clock."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.start()

    def start(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.wall += time.perf_counter() - self._wall
        self.cpu += time.process_time() - self._cpu


def success(act: Callable[[np.ndarray], np.ndarray]) -> float:
    """Share of deterministic episodes that succeed, the same episodes for every contender."""
    env = ReachVectorEnv(EVALUATION_EPISODES)
    obs, _ = env.reset(seed=FIRST_SEED)
    truncated = np.zeros(1, bool)
    infos: dict[str, Any] = {}
    while not truncated.any():
        obs, _, _, truncated, infos = env.step(act(obs))
    return float(infos["final_info"]["success"].mean())


class Progress:
    """Evaluates after every second update and remembers when the goal was first reached."""

    def __init__(self) -> None:
        self.clock, self.updates = Clock(), 0
        self.goal: tuple[int, float, float] | None = None
        self.last = 0.0

    def update_done(self, steps: int, act: Callable[[np.ndarray], np.ndarray]) -> None:
        self.updates += 1
        if self.updates % 2:
            return
        self.clock.stop()
        self.last = success(act)
        if self.goal is None and self.last >= GOAL:
            self.goal = (steps, self.clock.wall, self.clock.cpu)
        self.clock.start()

    def result(self, steps: int, **more: Any) -> dict[str, Any]:
        self.clock.stop()
        goal = self.goal or (None, None, None)
        return {
            "steps": steps, "wall": self.clock.wall, "cpu": self.clock.cpu, "success": self.last,
            "goal_steps": goal[0], "goal_wall": goal[1], "goal_cpu": goal[2], **more,
        }  # fmt: skip


def ours(config: Config) -> dict[str, Any]:
    """The reference. A compiled update compiles before the clock starts; reported apart."""
    trainer = Trainer(config)
    warm = time.perf_counter()
    if config.update == "compiled":
        compile_before(trainer)
    warm = time.perf_counter() - warm
    update = 0.0

    def act(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            s = torch.from_numpy(trainer.normalizer(obs))
            return trainer.policy.mode(s, torch.zeros(len(obs), 0))[0].numpy()

    progress = Progress()
    while trainer.steps < config.total_steps:
        update += trainer.iteration()["time"]["update"]
        progress.update_done(trainer.steps, act)
    return progress.result(trainer.steps, compile_seconds=warm, update_seconds=update)


def compile_before(trainer: Trainer) -> None:
    """Run the compiled step once, then put the weights and Adam's state back."""
    rows = torch.zeros(trainer.config.rollout_steps, trainer.policy.spec.obs_dim + trainer.buffer.a_dim + 3)
    theta = trainer.adam.theta.clone()
    trainer.update(rows, np.arange(len(rows))[None])
    trainer.adam.theta.copy_(theta)
    trainer.adam.m.zero_()
    trainer.adam.v.zero_()
    trainer.adam.t = 0


def stable_baselines3(config: Config) -> dict[str, Any]:
    """stable-baselines3's PPO with the same hyperparameters on the same task."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    progress = Progress()

    class Callback(BaseCallback):  # type: ignore[misc]
        def _on_rollout_start(self) -> None:
            if self.num_timesteps:  # an update has just ended
                progress.update_done(
                    self.num_timesteps, lambda obs: self.model.predict(obs, deterministic=True)[0]
                )

        def _on_step(self) -> bool:
            return True

    envs = DummyVecEnv([ReachEnv] * config.num_envs)
    model = PPO(
        "MlpPolicy", envs, learning_rate=config.lr, n_steps=config.horizon, batch_size=config.minibatch,
        n_epochs=config.epochs, gamma=config.gamma, gae_lambda=config.lam, clip_range=config.clip,
        max_grad_norm=config.max_grad_norm, vf_coef=config.value_coef, seed=config.seed, device="cpu",
    )  # fmt: skip
    progress.clock.start()
    model.learn(config.total_steps, callback=Callback())
    return progress.result(model.num_timesteps)


def main() -> None:
    """`contenders.py NAME SEED STEPS ENVS`"""
    name, seed, steps, envs = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    config = Config(seed=seed, total_steps=steps, num_envs=envs)
    run = {
        "plain": lambda: ours(config),
        "analytic": lambda: ours(replace(config, update="analytic")),
        "compiled": lambda: ours(replace(config, update="compiled")),
        "numpy": lambda: ours(replace(config, update="numpy")),
        "stable-baselines3": lambda: stable_baselines3(config),
    }[name]
    print(json.dumps({"name": name, "envs": envs, "seed": seed, **run()}))


if __name__ == "__main__":
    main()
