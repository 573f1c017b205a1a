"""The training loop: collect a rollout, estimate advantages, update, repeat."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from reference_ppo import events, overlap
from reference_ppo.adam import Adam
from reference_ppo.buffer import Buffer
from reference_ppo.config import Config
from reference_ppo.device import open_device
from reference_ppo.envs.make import Spec, make_envs, spec_of
from reference_ppo.errors import UsageError
from reference_ppo.evaluate import evaluate, evaluation_envs
from reference_ppo.events import Event
from reference_ppo.health import signals
from reference_ppo.health.monitor import Monitor
from reference_ppo.host import HostPolicy
from reference_ppo.normalize import Normalizer
from reference_ppo.policy import Policy, quick_tanh
from reference_ppo.ppo import PlainUpdate, permutations
from reference_ppo.recurrent import RecurrentPolicy
from reference_ppo.rollout import Collector
from reference_ppo.timing import Stages
from reference_ppo.world import World

RECENT_EPISODES = 100


def freeze_imported() -> None:
    """Python's collector would go through all that importing torch left, again and again: 5% of the time.

    Once per process, and without the garbage of the moment: what is frozen as garbage is never freed.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


class Trainer:
    """Everything a run consists of. `run()` yields one event (a JSON-ready dict) per update."""

    def __init__(self, config: Config, world: World | None = None) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        # Worker processes start before the device is opened, and stop whatever happens.
        self.world = world or World(0, 1, torch.device("cpu"))
        self.groups: list[Collector] = []
        self.envs = [make_envs(config, n) for n in self.group_sizes()]
        try:
            self.build()
        except BaseException:
            self.close()
            raise

    def group_sizes(self) -> list[int]:
        """Environments of this process, in one group or in two that take turns."""
        mine, groups = self.config.num_envs // self.world.size, 2 if self.config.overlap else 1
        return [mine // groups] * groups

    def build(self) -> None:
        """Policy, Adam, statistics and buffers."""
        config, spec = self.config, spec_of(self.envs[0])
        self.device = open_device(config.device)
        # Weights, noise and orders are drawn on the host, each from its own stream of the seed.
        kind = self.kind_of_policy(spec)
        self.policy = kind(spec, config.hidden, config.log_std, config.squash, config.seed).to(self.device)
        if config.quick_tanh and self.device.type == "cpu":
            self.policy.tanh = quick_tanh
        self.adam = Adam(self.policy.theta, config.lr, config.adam_eps)
        self.update = self.make_update()
        self.noise_rng = np.random.default_rng([config.seed, 2])
        self.order_rng = np.random.default_rng([config.seed, 3, self.world.rank])
        self.normalizer = Normalizer(spec.obs_dim, config.normalize_obs)
        self.stages = Stages()
        n = sum(self.group_sizes())
        first = config.seed + self.world.rank * n
        for envs in self.envs:
            seeds = list(range(first, first + envs.num_envs))
            self.groups.append(Collector(envs, self.policy, self.normalizer, seeds, self.stages))
            first += envs.num_envs
        self.buffer = Buffer(config.horizon, n, spec)
        self.monitor = Monitor(config, spec)
        self.updates = self.steps = 0
        self.recent: deque[tuple[float, bool | None]] = deque(maxlen=RECENT_EPISODES)
        freeze_imported()

    def kind_of_policy(self, spec: Spec) -> type[Policy]:
        """With memory or without; and where it acts."""
        config = self.config
        if config.recurrent:
            return RecurrentPolicy
        gaussian = not spec.discrete and not config.squash
        return HostPolicy if config.host_inference and self.device.type == "cpu" and gaussian else Policy

    def make_update(self) -> PlainUpdate:
        """The form of the update that the configuration asks for."""
        config = self.config
        if config.update == "plain":
            return PlainUpdate(self.policy, self.adam, config, self.world)
        if config.update == "analytic":
            from reference_ppo.analytic import AnalyticUpdate

            if self.policy.spec.discrete:
                raise UsageError("the analytic update is for continuous actions; use plain")
            return AnalyticUpdate(self.policy, self.adam, config, self.world)
        if self.world.size > 1:
            raise UsageError(f"the {config.update} update runs in a single process")
        if config.update == "compiled":
            from reference_ppo.compiled import CompiledUpdate

            return CompiledUpdate(self.policy, self.adam, config)
        from reference_ppo.by_hand import NumpyUpdate

        return NumpyUpdate(self.policy, self.adam, config)

    def close(self) -> None:
        """Stop environment processes."""
        for envs in self.envs:
            envs.close()

    def run(self) -> Iterator[Event]:
        """Train; yields `start`, then one `update` (and perhaps `eval`) per iteration, then `end`."""
        began, reason = perf_counter(), "total-steps"
        yield events.start(self)
        evaluation: Event | None = None
        while self.steps < self.config.total_steps:
            update_event = self.iteration()
            yield update_event
            alarms = self.monitor(update_event)
            yield from alarms
            if (
                self.world.together(any(a["severity"] == "error" for a in alarms))
                and self.config.stop_on_fault
            ):
                reason = "fault"
                break
            goal = self.config.target_success
            if goal is not None and self.updates % self.config.eval_every == 0:
                evaluation = self.evaluation()
                yield evaluation
                if self.world.together((evaluation["success_rate"] or 0.0) >= goal):
                    reason = "target-success"
                    break
            limit = self.config.max_seconds
            if limit is not None and self.world.together(perf_counter() - began >= limit):
                reason = "max-seconds"
                break
        if evaluation is None or evaluation["steps"] != self.steps:
            evaluation = self.evaluation()
            yield evaluation
        yield events.end(self, reason, evaluation, perf_counter() - began)

    def iteration(self) -> Event:
        """One rollout and one update."""
        config, buffer = self.config, self.buffer
        self.collect(self.noise())
        buffer.estimate(config.gamma, config.lam)
        seen_in_rollout = signals.of_rollout(buffer)
        if config.normalize_advantage:
            # Once per rollout, not per minibatch: the same for every minibatch, and for every process.
            buffer.advantage = self.world.standardize(buffer.advantage)
        with self.stages("update"):
            states = [torch.cat(parts) for parts in zip(*(group.states for group in self.groups))]
            data = self.policy.batch(buffer, states)
            seen = self.update(data, self.order(len(data)))
        self.normalizer.merge(*self.world.moments(buffer.raw.reshape(-1, buffer.raw.shape[-1])))
        self.updates += 1
        self.steps += config.rollout_steps
        bad = signals.count_non_finite(buffer.s, buffer.v, buffer.r, buffer.advantage, *seen.values())
        about = {**signals.of_update(seen, config.epochs, config.clip), **seen_in_rollout, "non_finite": bad}
        return events.update(self, about)

    def collect(self, noise: NDArray[np.float32]) -> None:
        """Fill the buffer."""
        if len(self.groups) == 1:
            self.groups[0].collect(self.buffer, noise)
        else:
            overlap.collect(self.groups, self.buffer, noise)

    def noise(self) -> NDArray[np.float32]:
        """(T, N, K): standard normal for Gaussian actions, Gumbel for choices.

        Drawn for the environments of all processes, of which this one takes its own.
        """
        shape = (self.config.horizon, self.config.num_envs, self.policy.spec.act_dim)
        if self.policy.spec.discrete:
            noise = self.noise_rng.gumbel(size=shape).astype(np.float32)
        else:
            noise = self.noise_rng.standard_normal(shape, np.float32)
        n = self.config.num_envs // self.world.size
        return noise[:, self.world.rank * n : (self.world.rank + 1) * n]

    def order(self, rows: int) -> NDArray[np.int64]:
        """A random order of the rows for every epoch, (epochs, rows)."""
        return permutations(self.order_rng, rows, self.config.epochs)

    def evaluation(self) -> Event:
        """Deterministic evaluation; its time counts for no stage."""
        if not hasattr(self, "eval_envs"):
            self.eval_envs = evaluation_envs(self.config)
        began = perf_counter()
        result = evaluate(self.policy, self.normalizer, self.eval_envs)
        seconds = perf_counter() - began
        self.stages.started += seconds
        return events.evaluation(self, seconds, result)
