"""CSV and TensorBoard logs, under the names of stable-baselines3 where it has one."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

Event = dict[str, Any]

NAMES = {
    "rollout/ep_rew_mean": ("return",),
    "rollout/success_rate": ("success_rate",),
    "rollout/reward_mean": ("health", "reward_mean"),
    "rollout/reward_std": ("health", "reward_std"),
    "rollout/advantage_mean": ("health", "advantage_mean"),
    "rollout/advantage_std": ("health", "advantage_std"),
    "time/fps": ("steps_per_s",),
    "time/env_s": ("time", "env"),
    "time/inference_s": ("time", "inference"),
    "time/transfer_s": ("time", "transfer"),
    "time/update_s": ("time", "update"),
    "train/approx_kl": ("health", "approx_kl"),
    "train/clip_fraction": ("health", "clip_fraction"),
    "train/entropy": ("health", "entropy"),
    "train/explained_variance": ("health", "explained_variance"),
    "train/first_log_ratio": ("health", "first_log_ratio"),
    "train/grad_norm": ("health", "grad_norm"),
    "train/policy_gradient_loss": ("health", "policy_loss"),
    "train/value_loss": ("health", "value_loss"),
    "train/non_finite": ("health", "non_finite"),
}


def scalars(event: Event) -> dict[str, float]:
    """The logged numbers of an `update` event; unknown ones (no episode has ended yet) are left out."""
    out = {}
    for name, path in NAMES.items():
        value: Any = event
        for key in path:
            value = value[key]
        if value is not None:
            out[name] = float(value)
    return out


class CsvLog:
    """`progress.csv`: one row per update, the column set fixed from the start."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / "progress.csv").open("w", newline="", encoding="utf-8")
        self.writer = csv.DictWriter(
            self.file, ["time/total_timesteps", *NAMES, "eval/mean_reward", "eval/success_rate"]
        )
        self.writer.writeheader()
        self.evaluation: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """An evaluation is written with the update after which it happened."""
        if event["event"] == "update":
            self.flush()
            self.row: dict[str, Any] = {"time/total_timesteps": event["steps"], **scalars(event)}
        elif event["event"] == "eval" and hasattr(self, "row"):
            self.row.update({"eval/mean_reward": event["return"], "eval/success_rate": event["success_rate"]})
        elif event["event"] == "end":
            self.flush()

    def flush(self) -> None:
        """Write the row that is complete."""
        if hasattr(self, "row"):
            self.writer.writerow(self.row)
            self.file.flush()
            del self.row

    def close(self) -> None:
        """Write what is left."""
        self.flush()
        self.file.close()


class TensorBoardLog:
    """Event files for TensorBoard; only where the `tensorboard` package is installed."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder))

    @staticmethod
    def available() -> bool:
        """Whether `tensorboard` can be imported."""
        return importlib.util.find_spec("tensorboard") is not None

    def __call__(self, event: Event) -> None:
        """Write the scalars of an update or evaluation."""
        steps = event.get("steps")
        if event["event"] == "update":
            for name, value in scalars(event).items():
                self.writer.add_scalar(name, value, steps)
        elif event["event"] == "eval":
            self.writer.add_scalar("eval/mean_reward", event["return"], steps)
            if event["success_rate"] is not None:
                self.writer.add_scalar("eval/success_rate", event["success_rate"], steps)

    def close(self) -> None:
        """Flush and close."""
        self.writer.close()
