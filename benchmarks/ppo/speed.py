"""Speed of the reference against stable-baselines3.

    python benchmarks/ppo/speed.py [--seeds 3] [--steps 61440]

Same task, same hyperparameters, same steps, one torch thread, every run in a process of its own, contenders
in turn so that a busy machine hits all alike. Compare the ratios; they use CPU seconds, which a neighbour
disturbs less than the clock.

Every form is tried with several numbers of environments, and its quickest setting counts among those that
learn: every seed must end with at least 90% success. The same rule holds for stable-baselines3, against whose
best setting all ratios are taken. All settings are printed. Rollouts stay at least 32 steps long. Without
stable-baselines3 in this Python a virtual environment is made for it; if that fails, it is skipped.
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
GOAL = 0.9
FORMS = ("plain", "analytic", "compiled", "numpy")
CONTENDERS = [(SB3, n) for n in (8, 16, 32)] + [(form, n) for n in (32, 64) for form in FORMS]

Key = tuple[str, int]
Runs = dict[Key, list[dict[str, Any]]]


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


def median(runs: Runs, key: Key, value: str) -> float:
    """Of all seeds; NaN where no seed has the value."""
    known = [r[value] for r in runs[key] if r.get(value) is not None]
    return statistics.median(known) if known else float("nan")


def speed(runs: Runs, key: Key) -> float:
    """Environment steps per CPU second."""
    return median(runs, key, "steps") / median(runs, key, "cpu")


def that_learn(runs: Runs, form: str) -> list[Key]:
    """The settings of a form with which every seed ends with the goal."""
    return [key for key in runs if key[0] == form and min(r["success"] for r in runs[key]) >= GOAL]


def table(runs: Runs) -> str:
    """One line per setting: medians over the seeds."""
    lines = [
        "| form | envs | steps/s (CPU) | steps/s (clock) | success, seed by seed | 90% after steps "
        "| 90% after CPU s | loop / update | compile s |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for key in runs:
        loop = [r["wall"] / r["update_seconds"] for r in runs[key] if r.get("update_seconds")]
        cells = [
            key[0], str(key[1]), f"{speed(runs, key):.0f}",
            f"{median(runs, key, 'steps') / median(runs, key, 'wall'):.0f}",
            " ".join(f"{r['success']:.2f}" for r in runs[key]), f"{median(runs, key, 'goal_steps'):.0f}",
            f"{median(runs, key, 'goal_cpu'):.2f}", f"{statistics.median(loop):.2f}" if loop else "-",
            f"{median(runs, key, 'compile_seconds'):.1f}" if key[0] == "compiled" else "-",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ratios(runs: Runs) -> str:
    """Each form against stable-baselines3, both at their best setting: for speed, for time to the goal."""
    lines = ["| form | steps per CPU second | ratio | CPU seconds to 90% | ratio |", "|---|--:|--:|--:|--:|"]
    rival = (float("nan"), float("nan"))
    for form in dict.fromkeys(name for name, _ in runs):
        keys = that_learn(runs, form)
        if not keys:
            lines.append(f"| {form} | no setting with which every seed learns | | | |")
            continue
        quickest = max(keys, key=lambda key: speed(runs, key))
        soonest = min(keys, key=lambda key: median(runs, key, "goal_cpu"))
        own = speed(runs, quickest), median(runs, soonest, "goal_cpu")
        rival = own if form == SB3 else rival
        lines.append(
            f"| {form} | {own[0]:.0f} ({quickest[1]} envs) | {own[0] / rival[0]:.2f} "
            f"| {own[1]:.2f} ({soonest[1]} envs) | {own[1] / rival[1]:.2f} |"
        )
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
    runs: Runs = {}
    for seed in range(options.seeds):
        for name, envs in CONTENDERS:
            if name in options.skip or (name == SB3 and rival is None):
                continue
            python = rival if name == SB3 and rival else sys.executable
            runs.setdefault((name, envs), []).append(run(python, name, envs, seed, options.steps))
            print(json.dumps(runs[name, envs][-1]), file=sys.stderr, flush=True)
    print(table(runs) + "\n\n" + ratios(runs))


if __name__ == "__main__":
    main()
