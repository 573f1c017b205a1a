"""On the simulated NPU: the CPU's bytes, one copy back per vector step, nothing read inside the update."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--num-envs", "8", "--rollout-steps", "512", "--epochs", "2", "--total-steps", "1024",
         "--eval-episodes", "4", "--quiet", "--no-quick-tanh", "--no-host-inference"]  # fmt: skip


def python(*arguments: str) -> None:
    out = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.parametrize("more", [[], ["--recurrent", "--update", "analytic"]], ids=["plain", "recurrent"])
def test_same_bytes_as_the_cpu_and_no_hidden_sync(tmp_path: Path, more: list[str]) -> None:
    cpu, npu, counts = tmp_path / "cpu.pt", tmp_path / "npu.pt", tmp_path / "counts.json"
    python("-m", "reference_ppo", *SMALL, *more, "--checkpoint", str(cpu))
    simulate = ["-m", "npudoctor", "simulate", "--json", "--output", str(counts), "-m", "reference_ppo", "--"]
    python(*simulate, *SMALL, *more, "--device", "npu", "--checkpoint", str(npu))
    # A checkpoint written on the NPU loads on a machine without one.
    theta = [torch.load(path, weights_only=True)["theta"] for path in (cpu, npu)]
    assert torch.equal(theta[0], theta[1])

    lines = json.loads(counts.read_text(encoding="utf-8"))["extra"]["simulation"]["lines"]
    vector_steps, updates = 128, 2
    back = {(line["path"], line["function"]): line["d2h"] for line in lines if line["d2h"]}
    assert back["reference_ppo/rollout.py", "read"] == vector_steps
    assert back["reference_ppo/rollout.py", "end"] == updates
    assert back["reference_ppo/ppo.py", "read"] == updates
    update_files = ("ppo.py", "policy.py", "distribution.py", "analytic.py", "recurrent.py", "adam.py")
    reads = {key: n for key, n in back.items() if key[0].endswith(update_files)}
    assert reads == {("reference_ppo/ppo.py", "read"): updates}
