"""All processes of a `torchrun` job, or the one process of a plain run.

Data parallel: every process has the same weights and its own share of the environments. Gradients are
averaged before clipping; advantages and observations are normalised by statistics of all processes;
decisions to stop are taken together. With gloo on a CPU this checks correctness, it does not gain speed:
a message costs about as much as half a minibatch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

BACKENDS = {"cpu": "gloo", "npu": "hccl", "cuda": "nccl"}


class World:
    """This process's place. `World(0, 1)` is a plain run, in which nothing is sent."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        self.rank, self.size, self.device = rank, size, device

    @classmethod
    def join(cls, device: torch.device, environ: Mapping[str, str] = os.environ) -> World:
        """Join the job that torchrun's variables describe, if there is one."""
        size = int(environ.get("WORLD_SIZE", "1"))
        if size > 1:
            # The defaults of these functions would keep the group, and its threads, alive for ever, if they
            # were first loaded after it was made: such a thread aborts when the interpreter ends. The updates
            # here load them nowhere; torch's own optimisers and torch.compile do, for whoever uses them.
            import torch.distributed.nn.functional  # noqa: F401

            dist.init_process_group(BACKENDS.get(device.type, "gloo"))
        return cls(int(environ.get("RANK", "0")), size, device)

    def finish(self) -> None:
        """Wait for all at the orderly end: a process that leaves early aborts those that still talk to it."""
        if self.size > 1:
            dist.barrier()

    def leave(self) -> None:
        """End the job's communication."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def average(self, g: Tensor) -> None:
        """Mean over processes, in place, on the device."""
        if self.size > 1:
            dist.all_reduce(g)
            g.div_(self.size)

    def total(self, *numbers: float) -> list[float]:
        """Sums over processes of a few numbers."""
        if self.size == 1:
            return list(numbers)
        kind = torch.float64 if self.device.type == "cpu" else torch.float32
        x = torch.tensor(numbers, dtype=kind).to(self.device)
        dist.all_reduce(x)
        return [float(v) for v in x.cpu()]

    def together(self, stop: bool) -> bool:
        """True for all as soon as it is true for one: nobody waits for a process that has left."""
        return self.total(float(stop))[0] > 0

    def standardize(self, a: NDArray[np.float32]) -> NDArray[np.float32]:
        """(A - mean) / std with the statistics of all processes."""
        n, s, q = self.total(
            a.size, float(a.sum(dtype=np.float64)), float(np.square(a, dtype=np.float64).sum())
        )
        mean = s / n
        std = max(q / n - mean * mean, 0.0) ** 0.5
        return ((a - np.float32(mean)) / np.float32(std + 1e-8)).astype(np.float32)

    def moments(self, x: NDArray[np.float32]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Count, mean and sum of squared deviations of the rows of all processes' x (n, D)."""
        rows = x.astype(np.float64)
        # Column sums as products: with so few columns, NumPy's `sum` takes four times as long.
        n, *s = self.total(len(rows), *(np.ones(len(rows)) @ rows))
        mean = np.array(s) / n
        rows -= mean
        m2 = np.array(self.total(*np.einsum("nd,nd->d", rows, rows)))
        assert len(m2) == x.shape[1]
        return n, mean, m2

    def equal(self, theta: Tensor) -> bool:
        """Whether all processes hold the same parameters, bit for bit."""
        if self.size == 1:
            return True
        copies = [torch.empty_like(theta) for _ in range(self.size)]
        dist.all_gather(copies, theta.detach())
        return all(torch.equal(c.cpu(), copies[0].cpu()) for c in copies)
