"""Kernels and syncs per minibatch on the simulated NPU: `python benchmarks/ppo/kernels.py`.

On an NPU a launch costs more than the arithmetic of a 64 x 64 layer: the number of launches counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def totals(form: str, count: int) -> tuple[int, int]:
    """Kernels and syncs of a whole run of `minibatch.py`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "simulation.json"
        command = [sys.executable, "-m", "npudoctor", "simulate", "--json", "--output", str(out)]
        command += ["benchmarks/ppo/minibatch.py", form, str(count), "npu"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        simulation = json.loads(out.read_text(encoding="utf-8"))["extra"]["simulation"]
    lines = simulation["lines"]
    return sum(line["kernels"] for line in lines), sum(line["syncs"] for line in lines)


def per_minibatch(form: str) -> tuple[float, float]:
    """The difference of two runs leaves out what happens once."""
    few, many = totals(form, 4), totals(form, 14)
    return (many[0] - few[0]) / 10, (many[1] - few[1]) / 10


def main() -> None:
    """All forms, and their ratio to the conventional one."""
    print("simulated NPU, one minibatch of 256: forward, backward, clipping, Adam")
    base, _ = conventional = per_minibatch("conventional")
    for name, (kernels, syncs) in {
        "conventional": conventional,
        "plain": per_minibatch("plain"),
        "analytic": per_minibatch("analytic"),
    }.items():
        print(f"{name:13s} {kernels:6.1f} kernels {syncs:5.1f} syncs   ratio {kernels / base:.2f}")


if __name__ == "__main__":
    main()
