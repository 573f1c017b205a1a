"""How the cost model orders variants of one training: reference PPO with 1, 8 and 32 environments.

    python benchmarks/simulate_variants.py [--steps N]

Each variant runs on the simulated NPU; its estimated time per environment step is printed beside
its syncs and kernels per step. The article that `smoke-test` quotes saw batched environments win on
a real NPU; the estimate has to order the variants the same way. Exits 1 if it does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def simulate(environments: int, steps: int) -> dict[str, float]:
    """One variant: estimated microseconds, syncs and kernels per environment step."""
    command = [
        sys.executable, "-m", "npudoctor", "simulate", "--json", "-m", "reference_ppo", "--device", "npu",
        "--num-envs", str(environments), "--total-steps", str(steps), "--rollout-steps", "512",
        "--minibatch", "128", "--quiet", "--threads", "1", "--eval-every", "100000000",
        "--eval-episodes", "1",
    ]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    numbers = json.loads(done.stdout)["extra"]["simulation"]
    estimate = numbers["forecast"]["estimate"]
    rollout = numbers["phases"]["rollout"]
    # The environment's own time is this machine's, and the final evaluation steps it on the host:
    # the order is that of the rest, per step of training.
    return {
        "us": (estimate["total_us"] - estimate["env_us"]) / steps,
        "syncs": rollout.get("syncs", 0) / steps,
        "kernels": rollout["kernels"] / steps,
    }


def main() -> None:
    """Print the table and check the order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1024)
    steps = parser.parse_args().steps
    print("environments  estimate us/step  rollout syncs/step  rollout kernels/step")
    estimates = []
    for environments in (1, 8, 32):
        row = simulate(environments, steps)
        estimates.append(row["us"])
        print(f"{environments:12}  {row['us']:16.1f}  {row['syncs']:18.3f}  {row['kernels']:20.2f}")
    raise SystemExit(0 if estimates == sorted(estimates, reverse=True) else 1)


if __name__ == "__main__":
    main()
