"""Whole episodes driven by the exported model and by torch from the same seeds: does the task end the same?

Two policies that differ by rounding end almost every episode alike once the task is learned. A policy that
has half learned it circles its target, every rounding error grows about tenfold in a few steps, and torch
does not even agree with itself: the same weights asked with one row instead of 64 end other episodes well.
So the outcomes are compared with what torch shows when the last bit of its own observations changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from npudoctor.export.source import Source

EPISODES = 64
RERUNS = 8  # of torch, each with other last bits

Call = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Loop:
    """Episodes driven by torch and by the exported model from the same seeds.

    Attributes:
        difference: largest difference between the model's action and torch's for the same
            observation, over every step of the model's episodes; share of differing choices
            where actions are choices.
        limit: what `difference` may be.
        changed: episodes that the model ends otherwise than torch: success where the environment
            tells it, else the return within 0.1%.
        own_changed: the most episodes that torch itself ends otherwise when the last bit of its
            observations changes, over `RERUNS` runs.
    """

    episodes: int
    torch_return: float
    onnx_return: float
    torch_success: float | None
    onnx_success: float | None
    difference: float
    limit: float
    changed: int
    own_changed: int

    @property
    def allowed(self) -> int:
        """How many changed outcomes rounding explains: none for a policy that rounding cannot move."""
        return 2 * self.own_changed + 1 if self.own_changed else 0


@dataclass(frozen=True)
class Episodes:
    """Return and success of the first episode in each environment, (N,); success None when not told."""

    returns: Any
    success: Any

    @property
    def rate(self) -> float | None:
        """Share of successes."""
        return None if self.success is None else float(self.success.mean())

    def changed(self, other: Episodes) -> int:
        """How many episodes end otherwise in `other`."""
        import numpy as np

        if self.success is not None and other.success is not None:
            return int((self.success != other.success).sum())
        return int((~np.isclose(self.returns, other.returns, rtol=1e-3, atol=1e-6)).sum())


def closed_loop(source: Source, call: Call) -> Loop | None:
    """Whole episodes with either policy on the seeds of the reference evaluation; None without a task."""
    import numpy as np

    from npudoctor.export.verify import LIMITS, difference

    if source.settings is None:
        return None
    torch_run = episodes(source, source.call)
    pairs: list[tuple[Any, Any]] = []

    def watched(*arrays: Any) -> tuple[Any, ...]:
        found = call(*arrays)
        pairs.append((source.call(*arrays)[0], found[0]))
        return found

    model_run = episodes(source, watched)
    actions = [np.concatenate(side) for side in zip(*pairs)]
    reruns = (episodes(source, shaken(source.call, seed)) for seed in range(RERUNS))
    return Loop(
        EPISODES,
        float(torch_run.returns.mean()),
        float(model_run.returns.mean()),
        torch_run.rate,
        model_run.rate,
        difference(*actions),
        LIMITS.of(actions[0]),
        torch_run.changed(model_run),
        max(torch_run.changed(run) for run in reruns),
    )


def shaken(call: Call, seed: int) -> Call:
    """`call` with the last bit of each number of the first input moved up, down or not at all."""
    import numpy as np

    rng = np.random.default_rng(seed)

    def inner(obs: Any, *others: Any) -> tuple[Any, ...]:
        towards = np.asarray(rng.choice([-np.inf, 0.0, np.inf], obs.shape), obs.dtype)
        return call(np.where(towards == 0.0, obs, np.nextafter(obs, towards)), *others)

    return inner


def episodes(source: Source, call: Call) -> Episodes:
    """The first episode in each of `EPISODES` environments, stepped together."""
    import numpy as np

    from npudoctor.export.policy import FIRST_SEED
    from reference_ppo.config import Config
    from reference_ppo.envs.make import make_envs, successes

    settings = {**dict(source.settings or {}), "workers": False}
    envs = make_envs(Config(**{**settings, "hidden": tuple(settings["hidden"])}), EPISODES)
    seeds: Any = [FIRST_SEED + i for i in range(EPISODES)]
    obs, _ = envs.reset(seed=seeds)
    returns, running = np.zeros(EPISODES), np.ones(EPISODES, bool)
    success, known = np.zeros(EPISODES, bool), False
    memory = [np.zeros((EPISODES, *t.shape[1:]), np.float32) for t in source.inputs[1:]]
    try:
        while running.any():
            action, *memory = call(np.asarray(obs, np.float32), *memory)
            obs, reward, terminated, truncated, infos = envs.step(action)
            returns += np.where(running, reward, 0.0)
            ended = np.flatnonzero((terminated | truncated) & running)
            if len(ended):
                running[ended] = False
                told = successes(infos, ended)
                if told is not None:
                    known, success[ended] = True, told
    finally:
        envs.close()
    return Episodes(returns, success if known else None)
