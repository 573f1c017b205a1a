"""The state of a run as plain tensors, numbers and strings, and back: N + M updates equal N, resume, M."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reference_ppo.checkpoint import FORMAT, in_order
from reference_ppo.envs.reach import ReachVectorEnv
from reference_ppo.errors import UsageError

if TYPE_CHECKING:
    from reference_ppo.rollout import Collector
    from reference_ppo.train import Trainer

# Settings that may differ between a run and its continuation.
FREE = {"total_steps", "target_success", "max_seconds", "device", "threads", "eval_every", "eval_episodes",
        "host_inference"}  # fmt: skip


def take(trainer: Trainer) -> dict[str, Any]:
    """Everything the next update depends on. Tensors are on the host."""
    adam = trainer.adam
    return {
        "format": FORMAT,
        "config": json.dumps(trainer.config.as_dict()),
        "theta": trainer.policy.theta.detach().cpu(),
        "adam": {"m": adam.m.cpu(), "v": adam.v.cpu(), "t": adam.t},
        "host": json.dumps(
            {
                "updates": trainer.updates,
                "steps": trainer.steps,
                "normalizer": trainer.normalizer.state(),
                "noise_rng": trainer.noise_rng.bit_generator.state,
                "order_rng": trainer.order_rng.bit_generator.state,
                "running": [g.episodes.running.tolist() for g in trainer.groups],
                "recent": list(trainer.recent),
            }
        ),
        "groups": [group_state(group) for group in trainer.groups],
    }


def restore(trainer: Trainer, state: dict[str, Any]) -> None:
    """Continue from `take`'s result.

    The built-in task continues in the middle of its episodes. Other environments cannot be saved: their
    episodes start anew, everything else is the same.

    Raises:
        UsageError: the run has other settings than the checkpoint.
    """
    saved, now = json.loads(state["config"]), trainer.config.as_dict()
    different = sorted(k for k in now if k not in FREE and saved.get(k) != now[k])
    if different:
        raise UsageError(
            "the checkpoint was made with other settings: "
            + ", ".join(f"{k} {saved.get(k)} (now {now[k]})" for k in different)
        )
    adam, moments = trainer.adam, state["adam"]
    for own, theirs in ((adam.theta, state["theta"]), (adam.m, moments["m"]), (adam.v, moments["v"])):
        own.copy_(in_order(theirs, state["format"], trainer.policy))
    adam.t = moments["t"]
    host = json.loads(state["host"])
    trainer.updates, trainer.steps = host["updates"], host["steps"]
    trainer.normalizer.load(host["normalizer"])
    trainer.noise_rng.bit_generator.state = host["noise_rng"]
    trainer.order_rng.bit_generator.state = host["order_rng"]
    trainer.recent.extend((r, s) for r, s in host["recent"])
    for group, group_saved, running in zip(trainer.groups, state["groups"], host["running"]):
        if isinstance(group.envs, ReachVectorEnv):
            group.envs.load(group_saved["env"])
            group.obs, group.keep = group_saved["obs"].numpy().copy(), group_saved["keep"].numpy().copy()
            group.state = group_saved["state"].to(adam.theta.device)
            group.episodes.running = np.array(running)


def group_state(group: Collector) -> dict[str, Any]:
    """One group of environments in the middle of its episodes."""
    return {
        "env": group.envs.state() if isinstance(group.envs, ReachVectorEnv) else "",
        "obs": torch.from_numpy(group.obs.copy()),
        "keep": torch.from_numpy(group.keep.copy()),
        "state": group.state.cpu(),
    }
