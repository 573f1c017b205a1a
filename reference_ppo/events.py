"""What a run reports: plain dicts, ready for JSON. README.md documents every key."""

from __future__ import annotations

import math
import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reference_ppo.evaluate import Evaluation

if TYPE_CHECKING:
    from reference_ppo.train import Trainer

Event = dict[str, Any]


def start(trainer: Trainer) -> Event:
    """What runs, where."""
    return {
        "event": "start",
        "device": str(trainer.device),
        "processes": trainer.world.size,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "parameters": trainer.policy.theta.numel(),
        "config": trainer.config.as_dict(),
    }


def update(trainer: Trainer, signals: dict[str, float]) -> Event:
    """Numbers of the iteration that just ended."""
    ended = [episode for group in trainer.groups for episode in group.episodes.take()]
    trainer.recent.extend(ended)
    seconds, copies = trainer.stages.take()
    return {
        "event": "update",
        "update": trainer.updates,
        "steps": trainer.steps,
        "episodes": len(ended),
        "return": mean([r for r, _ in trainer.recent]),
        "return_std": float(np.std([r for r, _ in trainer.recent])) if trainer.recent else None,
        "success_rate": mean([float(s) for _, s in trainer.recent if s is not None]),
        "steps_per_s": trainer.config.rollout_steps / seconds["total"],
        "time": seconds,
        "vector_steps": trainer.config.horizon * len(trainer.groups),
        "device_to_host": copies,
        "health": signals,
    }


def evaluation(trainer: Trainer, seconds: float, result: Evaluation) -> Event:
    """Outcome of deterministic episodes."""
    return {
        "event": "eval",
        "update": trainer.updates,
        "steps": trainer.steps,
        "seconds": seconds,
        "episodes": len(result.returns),
        "return": float(np.mean(result.returns)),
        "success_rate": result.success_rate,
    }


def end(trainer: Trainer, reason: str, last: Event, seconds: float) -> Event:
    """The last line of a run."""
    return {
        "event": "end",
        "reason": reason,
        "updates": trainer.updates,
        "steps": trainer.steps,
        "seconds": seconds,
        "return": last["return"],
        "success_rate": last["success_rate"],
        "faults": list(trainer.monitor.fired),
        "processes_equal": trainer.world.equal(trainer.policy.theta),
    }


def mean(values: list[float]) -> float | None:
    """None for an empty list: JSON has no NaN."""
    return math.fsum(values) / len(values) if values else None
