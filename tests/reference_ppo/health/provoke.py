"""Runs healthy seeds or faults and prints the rules that fired, as JSON; started by test_rules.py.

In a process of its own, so that NumPy's matrix library can be held to one thread:
`provoke.py '[[NAME, SEEDS, STEPS], ...]'`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from benchmarks.ppo import faults
from reference_ppo.config import Config
from reference_ppo.train import Trainer


def provoke(name: str, seeds: int, steps: int) -> list[dict]:
    """Rules that fired and final success, seed by seed."""
    # The low-precision fault lives in autograd's forward pass; all else runs in the quickest form.
    update = "plain" if name == "low precision update" else "numpy"
    fired = []
    for seed in range(seeds):
        config = Config(seed=seed, total_steps=steps, update=update, stop_on_fault=False, eval_episodes=32)
        trainer = Trainer(replace(config, **faults.SETTINGS.get(name, {})))
        if name in faults.CODE:
            faults.CODE[name](trainer)
        end = list(trainer.run())[-1]
        fired.append({"rules": end["faults"], "success": end["success_rate"]})
    return fired


if __name__ == "__main__":
    print(json.dumps({name: provoke(name, seeds, steps) for name, seeds, steps in json.loads(sys.argv[1])}))
