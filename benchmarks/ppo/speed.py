"""Speed of the reference against stable-baselines3.

    python benchmarks/ppo/speed.py [--seeds 3] [--steps 61440]

Same task, same hyperparameters, same steps, one torch thread, every run in a process of its own, contenders
in turn so that a busy machine hits all alike. Compare the ratios; they use CPU seconds, which a neighbour
disturbs less than the clock. stable-baselines3 is tried with several numbers of environments and its best
one counts. Without stable-baselines3 in this Python a virtual environment is made for it; if that fails, it
is skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SB3, VERSION = "stable-baselines3", "2.9.2"
CONTENDERS = [(SB3, 8), (SB3, 32), ("plain", 32), ("analytic", 32), ("compiled", 32), ("numpy", 32)]


def succeeds(*command: str) -> bool:
    """Whether a command ends with 0."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def python_with_sb3() -> str | None:
    """A Python that can import stable-baselines3: this one, or one made for it beside the project."""
    if succeeds(sys.executable, "-c", "import stable_baselines3"):
        return sys.executable
    folder = ROOT / "build" / "benchmark-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(folder)], check=True)
    # --no-deps: nothing may replace the torch under test; pandas is what it needs beyond that.
    for arguments in (["--no-deps", f"{SB3}=={VERSION}"], ["pandas", "cloudpickle"]):
        if not succeeds(str(python), "-m", "pip", "install", "-q", *arguments):
            return None
    return str(python)


def run(python: str, name: str, envs: int, seed: int, steps: int) -> dict[str, Any]:
    """One run of one contender."""
    command = [python, str(Path(__file__).with_name("contenders.py")), name, str(seed), str(steps), str(envs)]
    out = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
    return result


def table(runs: dict[tuple[str, int], list[dict[str, Any]]]) -> str:
    """Medians per contender and ratios to the best stable-baselines3."""

    def median(key: tuple[str, int], value: str) -> float:
        known = [r[value] for r in runs[key] if r[value] is not None]
        return statistics.median(known) if known else float("nan")

    def speed(key: tuple[str, int]) -> float:
        return median(key, "steps") / median(key, "cpu")

    rivals = [key for key in runs if key[0] == SB3]
    best = max(rivals, key=speed) if rivals else None
    soonest = min((median(key, "goal_cpu") for key in rivals), default=float("nan"))
    lines = [
        "| form | envs | steps/s (CPU) | ratio | steps/s (clock) | 90% after steps | 90% after CPU s | ratio "
        "| success | loop / update | compile s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for key in runs:
        loop = [r["wall"] / r["update_seconds"] for r in runs[key] if r.get("update_seconds")]
        cells = [
            key[0], str(key[1]), f"{speed(key):.0f}", f"{speed(key) / speed(best):.2f}" if best else "-",
            f"{median(key, 'steps') / median(key, 'wall'):.0f}", f"{median(key, 'goal_steps'):.0f}",
            f"{median(key, 'goal_cpu'):.2f}", f"{median(key, 'goal_cpu') / soonest:.2f}",
            f"{median(key, 'success'):.2f}", f"{statistics.median(loop):.2f}" if loop else "-",
            f"{statistics.median([r.get('compile_seconds', 0) for r in runs[key]]):.1f}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Seeds outermost, contenders in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=61_440)
    parser.add_argument("--skip", nargs="*", default=[], help="contenders to leave out")
    options = parser.parse_args()
    rival = python_with_sb3()
    if rival is None:
        print(f"{SB3} {VERSION} could not be installed: its rows are skipped, and there are no ratios.")
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for seed in range(options.seeds):
        for name, envs in CONTENDERS:
            if name in options.skip or (name == SB3 and rival is None):
                continue
            python = rival if name == SB3 and rival else sys.executable
            runs.setdefault((name, envs), []).append(run(python, name, envs, seed, options.steps))
            print(json.dumps(runs[name, envs][-1]), file=sys.stderr, flush=True)
    print(table(runs))


if __name__ == "__main__":
    main()
