"""Two processes over gloo: the same gradients as one, the same weights in both, and the task learned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_ppo.adam import Adam
from reference_ppo.config import Config
from reference_ppo.ppo import PlainUpdate, loss
from reference_ppo.world import World
from tests.reference_ppo import two_processes

ROOT = Path(__file__).resolve().parents[2]


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", *arguments]  # fmt: skip
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=240, check=False
    )


def test_one_process_sends_nothing() -> None:
    world = World(0, 1, torch.device("cpu"))
    g = torch.tensor([1.0, 2.0])
    world.average(g)
    assert g.tolist() == [1.0, 2.0]
    a = np.random.default_rng(0).normal(3, 2, (8, 5)).astype(np.float32)
    assert world.standardize(a) == pytest.approx((a - a.mean()) / a.std(), abs=1e-5)
    n, mean, m2 = world.moments(a)
    assert (n, mean, m2) == (8, pytest.approx(a.mean(0)), pytest.approx(a.var(0) * 8, rel=1e-5))


def test_two_processes_compute_what_one_does(tmp_path: Path) -> None:
    out = torchrun("tests/reference_ppo/two_processes.py", str(tmp_path))
    assert out.returncode == 0, out.stderr
    both = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)]
    policy, data = two_processes.problem()
    total, _ = loss(policy, policy.weights(), data, Config())
    (g,) = torch.autograd.grad(total, policy.theta)
    # The mean of the halves' gradients is the gradient of the whole, up to the order of the additions.
    torch.testing.assert_close(both[0]["g"], g, rtol=1e-4, atol=1e-7)
    assert torch.equal(both[0]["g"], both[1]["g"])
    order = np.arange(len(data))[None].repeat(3, 0)
    config = Config(minibatch=len(data), rollout_steps=len(data))
    PlainUpdate(policy, Adam(policy.theta, config.lr, config.adam_eps), config)(data, order)
    torch.testing.assert_close(both[0]["theta"], policy.theta.detach(), rtol=0, atol=1e-6)
    assert torch.equal(both[0]["theta"], both[1]["theta"])
    a = two_processes.numbers()
    for rank in (0, 1):
        assert both[rank]["standardized"].numpy() == pytest.approx(
            ((a - a.mean()) / a.std())[rank * 4 : rank * 4 + 4], abs=1e-5
        )
        assert both[rank]["mean"].numpy() == pytest.approx(a.mean(0), abs=1e-5)
        assert both[rank]["together"] is True


def test_two_processes_with_half_the_environments_each_learn(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    out = torchrun("-m", "reference_ppo", "--target-success", "0.9", "--jsonl", str(file), "--quiet")
    assert out.returncode == 0, out.stderr
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert events[0]["processes"] == 2
    end = events[-1]
    assert end["success_rate"] >= 0.9
    assert end["processes_equal"] is True
    assert not end["faults"]
