"""The training loop: collect a rollout, estimate advantages, update, repeat."""

from __future__ import annotations

import math
import platform
from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import torch

from reference_ppo import health
from reference_ppo.config import Config
from reference_ppo.device import open_device
from reference_ppo.envs.make import make_envs, spec_of
from reference_ppo.evaluate import evaluate, evaluation_envs
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy
from reference_ppo.ppo import make_optimizer, permutations, update
from reference_ppo.rollout import Buffer, Collector
from reference_ppo.timing import Stages

Event = dict[str, Any]
RECENT_EPISODES = 100


class Trainer:
    """Everything a run consists of. `run()` yields one event (a JSON-ready dict) per update."""

    def __init__(self, config: Config) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.envs = make_envs(config)
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self) -> None:
        config, spec = self.config, spec_of(self.envs)
        self.device = open_device(config.device)
        # Weights, noise and permutations are drawn on the host, each from its own stream of the seed.
        self.policy = Policy(spec, config.hidden, config.log_std, config.squash, config.seed).to(self.device)
        self.optimizer = make_optimizer(self.policy, config)
        self.noise_rng = np.random.default_rng([config.seed, 2])
        self.order_rng = np.random.default_rng([config.seed, 3])
        self.normalizer = Normalizer(spec.obs_dim, config.normalize_obs)
        self.stages = Stages()
        seeds = [config.seed + i for i in range(config.num_envs)]
        self.collector = Collector(self.envs, self.policy, self.normalizer, seeds, self.stages)
        self.buffer = Buffer(config.horizon, config.num_envs, spec)
        self.updates = self.steps = 0
        self.recent: deque[tuple[float, bool | None]] = deque(maxlen=RECENT_EPISODES)

    def close(self) -> None:
        """Stop environment processes."""
        self.envs.close()

    def run(self) -> Iterator[Event]:
        """Train; yields `start`, then one `update` (and perhaps `eval`) per iteration, then `end`."""
        began, reason = perf_counter(), "total-steps"
        yield self.start_event()
        evaluation: Event | None = None
        while self.steps < self.config.total_steps:
            yield self.iteration()
            if self.config.target_success is not None and self.updates % self.config.eval_every == 0:
                evaluation = self.evaluation()
                yield evaluation
                if (evaluation["success_rate"] or 0.0) >= self.config.target_success:
                    reason = "target-success"
                    break
            if self.config.max_seconds is not None and perf_counter() - began >= self.config.max_seconds:
                reason = "max-seconds"
                break
        if evaluation is None or evaluation["steps"] != self.steps:
            evaluation = self.evaluation()
            yield evaluation
        yield self.end_event(reason, evaluation, perf_counter() - began)

    def iteration(self) -> Event:
        """One rollout and one update."""
        config, spec = self.config, self.policy.spec
        self.collector.collect(self.buffer, self.noise())
        self.buffer.estimate(config.gamma, config.lam)
        about_rollout = health.rollout_signals(self.buffer)
        if config.normalize_advantage:
            # Once per rollout, not per minibatch: the same for every minibatch, and for every process.
            a = self.buffer.advantage
            self.buffer.advantage = (a - a.mean()) / (a.std() + 1e-8)
        order = permutations(self.order_rng, config.rollout_steps, config.epochs)
        with self.stages("update"):
            seen = update(self.policy, self.optimizer, self.buffer.rows(), order, config)
        self.normalizer.update(self.buffer.raw.reshape(-1, spec.obs_dim))
        self.updates += 1
        self.steps += config.rollout_steps
        return self.update_event({**health.signals(seen, self.buffer, config.epochs), **about_rollout})

    def noise(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """(T, N, K): standard normal for Gaussian actions, Gumbel for choices."""
        shape = (self.config.horizon, self.config.num_envs, self.policy.spec.act_dim)
        if self.policy.spec.discrete:
            return self.noise_rng.gumbel(size=shape).astype(np.float32)
        return self.noise_rng.standard_normal(shape, np.float32)

    def start_event(self) -> Event:
        """What runs, where."""
        return {
            "event": "start",
            "device": str(self.device),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "parameters": self.policy.theta.numel(),
            "config": self.config.as_dict(),
        }

    def update_event(self, signals: dict[str, float]) -> Event:
        """Numbers of the iteration that just ended."""
        returns, success = self.collector.episodes.take()
        known: list[bool | None] = [*success] if success else [None] * len(returns)
        self.recent.extend(zip(returns, known))
        seconds, d2h = self.stages.take(), self.stages.device_to_host
        self.stages.device_to_host = 0
        return {
            "event": "update",
            "update": self.updates,
            "steps": self.steps,
            "episodes": len(returns),
            "return": mean([r for r, _ in self.recent]),
            "success_rate": mean([float(s) for _, s in self.recent if s is not None]),
            "steps_per_s": self.config.rollout_steps / seconds["total"],
            "time": seconds,
            "vector_steps": self.config.horizon,
            "device_to_host": d2h,
            "health": signals,
        }

    def evaluation(self) -> Event:
        """Deterministic evaluation; its time counts for no stage."""
        if not hasattr(self, "eval_envs"):
            self.eval_envs = evaluation_envs(self.config)
        began = perf_counter()
        result = evaluate(self.policy, self.normalizer, self.eval_envs)
        seconds = perf_counter() - began
        self.stages.started += seconds
        return {
            "event": "eval",
            "update": self.updates,
            "steps": self.steps,
            "seconds": seconds,
            **result.as_dict(),
        }

    def end_event(self, reason: str, evaluation: Event, seconds: float) -> Event:
        """The last line of a run."""
        return {
            "event": "end",
            "reason": reason,
            "updates": self.updates,
            "steps": self.steps,
            "seconds": seconds,
            "return": evaluation["return"],
            "success_rate": evaluation["success_rate"],
        }


def mean(values: list[float]) -> float | None:
    """None for an empty list: JSON has no NaN."""
    return math.fsum(values) / len(values) if values else None
