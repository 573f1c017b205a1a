"""Which signal moves under which fault: `python benchmarks/ppo/health.py [seeds] [steps]`, a table on stdout.

The thresholds of reference_ppo/health/rules.py rest on this table; run it again before changing one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.ppo import faults
from reference_ppo.config import Config
from reference_ppo.train import Trainer

COLUMNS = [
    "run",
    "success",
    "first log ratio",
    "KL",
    "clip fraction",
    "entropy",
    "explained variance",
    "grad norm",
    "value loss",
    "advantage std",
    "observation rms",
    "rules",
]


def run(name: str, seed: int, steps: int) -> list[dict]:
    """All update events of one run, and the final evaluation."""
    # The low-precision fault lives in autograd's forward pass; all else runs in the quickest form.
    update = "plain" if name == "low precision update" else "numpy"
    config = replace(
        Config(seed=seed, total_steps=steps, update=update, stop_on_fault=False),
        **faults.SETTINGS.get(name, {}),
    )
    trainer = Trainer(config)
    if name in faults.CODE:
        faults.CODE[name](trainer)
    return list(trainer.run())


def row(name: str, runs: list[list[dict]]) -> str:
    """One line of the table: over all updates of all runs."""
    updates = [[e for e in run if e["event"] == "update"] for run in runs]

    def values(key: str, skip: int = 0) -> np.ndarray:
        return np.array([u["health"][key] for run in updates for u in run[skip:]], float)

    def span(key: str, skip: int = 0) -> str:
        x = values(key, skip)
        return f"{np.nanmin(x):.2g} / {np.nanmedian(x):.2g} / {np.nanmax(x):.2g}"

    success = " ".join(f"{run[-1]['success_rate']:.2f}" for run in runs)
    rules = sorted({f"{e['rule']}@{e['update']}" for run in runs for e in run if e["event"] == "health"})
    cells = [
        name, success, span("first_log_ratio", 1), span("approx_kl"), span("clip_fraction"), span("entropy"),
        span("explained_variance", 5), span("grad_norm"), span("value_loss"), span("advantage_std"),
        span("observation_rms"), " ".join(rules),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Healthy seeds first, then each fault on three."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 61_440
    print("min / median / max over all updates and seeds\n")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    dump = {}
    for name in ["healthy", *faults.SETTINGS, *faults.CODE]:
        runs = [run(name, seed, steps) for seed in range(seeds if name == "healthy" else min(3, seeds))]
        dump[name] = runs
        print(row(name, runs), flush=True)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(dump))


if __name__ == "__main__":
    main()
