"""What each of the two processes of test_world.py does; run by torchrun."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

from reference_ppo.adam import Adam
from reference_ppo.config import Config
from reference_ppo.envs.make import Spec
from reference_ppo.policy import Policy
from reference_ppo.ppo import PlainUpdate, loss
from reference_ppo.world import World

ROWS = 64


def problem() -> tuple[Policy, torch.Tensor]:
    """A policy and a rollout, the same in every process."""
    policy = Policy(Spec(5, 2, False, -np.ones(2, np.float32), np.ones(2, np.float32)), seed=1)
    g = torch.Generator().manual_seed(0)
    data = torch.randn(ROWS, 5 + 2 + 3, generator=g)
    with torch.no_grad():
        data[:, 7] = policy(data[:, :5])[0].log_prob(data[:, 5:7]) + 0.1 * data[:, 7]
    return policy, data


def numbers() -> np.ndarray:
    """(8, 3): four rows for each process."""
    return np.random.default_rng(1).normal(4, 2, (8, 3)).astype(np.float32)


def threads() -> int:
    """Threads of this process, also those that Python did not start."""
    return len(os.listdir("/proc/self/task"))


def threads_end(number: int) -> bool:
    """Whether no more than `number` are left, after at most ten seconds."""
    end = time.monotonic() + 10
    while threads() > number and time.monotonic() < end:
        time.sleep(0.01)
    return threads() <= number


def main() -> None:
    torch.set_num_threads(1)
    before = threads()
    world = World.join(torch.device("cpu"))
    policy, data = problem()
    torch.optim.Adam([policy.theta])  # loads what `join` must have loaded before it made the group
    half = data[world.rank * ROWS // 2 : (world.rank + 1) * ROWS // 2]
    total, _ = loss(policy, policy.weights(), half, Config())
    (g,) = torch.autograd.grad(total, policy.theta)
    world.average(g)
    order = np.arange(ROWS // 2)[None].repeat(3, 0)
    config = Config(minibatch=ROWS, rollout_steps=ROWS)
    adam = Adam(policy.theta, config.lr, config.adam_eps)
    PlainUpdate(policy, adam, config, world)(half, order)
    a = numbers()[world.rank * 4 : world.rank * 4 + 4]
    result = {
        "g": g,
        "theta": policy.theta.detach(),
        "standardized": torch.from_numpy(world.standardize(a)),
        "mean": torch.from_numpy(world.moments(a)[1]),
        "together": world.together(world.rank == 1),
    }
    assert world.equal(policy.theta)
    torch.save(result, Path(sys.argv[1]) / f"{world.rank}.pt")
    world.finish()
    world.leave()
    # A thread of the group that is left aborts the process when the interpreter ends.
    assert threads_end(before), (before, threads())


if __name__ == "__main__":
    main()
