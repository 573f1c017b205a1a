"""One rank of the collective check, started by torchrun: `collective.py DEVICE TIMEOUT_S SEED`.

Each rank emits `rank`: the sum that all_reduce gave, and how far the gradients averaged
over the ranks are from those of the whole batch on one process.
"""

from __future__ import annotations

import datetime
import os
import sys
from typing import Any

from npudoctor.smoke_test.children.common import Clock, emit, guarded, open_device, wait

ROWS, INPUTS, HIDDEN = 256, 8, 64


def job(args: list[str]) -> int:
    """Join the group, reduce, compare gradients, leave."""
    import torch
    import torch.distributed as dist

    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = open_device(args[0], local)
    backend = "hccl" if device.type == "npu" else "gloo"
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=float(args[1])))
    size = dist.get_world_size()
    clock = Clock()
    total = torch.full((4,), float(rank + 1), device=device)
    dist.all_reduce(total)
    wait(device)
    first_s = clock.seconds()
    difference, spread = gradients(rank, size, device, int(args[2]))
    emit(
        "rank",
        rank=rank,
        size=size,
        backend=backend,
        device=str(device),
        sum=total.cpu().tolist(),
        expected=size * (size + 1) / 2,
        difference=difference,
        spread=spread,
        first_s=first_s,
        repeat_ms=repeat(device),
    )
    dist.barrier()
    dist.destroy_process_group()
    return 0


def gradients(rank: int, size: int, device: Any, seed: int) -> tuple[float, float]:
    """(largest relative difference to one process, largest difference between ranks)."""
    import torch
    import torch.distributed as dist

    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(ROWS * size, INPUTS, generator=generator)
    w = torch.randn(HIDDEN, INPUTS, generator=generator)
    whole = gradient(w, x)
    mine = gradient(w.to(device), x[rank * ROWS : (rank + 1) * ROWS].to(device))
    dist.all_reduce(mine)
    mine = (mine / size).cpu()
    high, low = mine.to(device, copy=True), mine.to(device, copy=True)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    return float((mine - whole).abs().max() / whole.abs().max()), float((high - low).abs().max())


def gradient(w: Any, x: Any) -> Any:
    """d/dw mean(tanh(x w^T)^2): (HIDDEN, INPUTS)."""
    w = w.detach().clone().requires_grad_(True)
    (x @ w.t()).tanh().square().mean().backward()
    return w.grad


def repeat(device: Any) -> float:
    """Milliseconds of one all_reduce of a small network's gradients (9,797 floats), median of 20."""
    import torch
    import torch.distributed as dist

    flat, times = torch.zeros(9797, device=device), []
    for _ in range(20):
        clock = Clock()
        dist.all_reduce(flat)
        wait(device)
        times.append(clock.seconds())
    return 1e3 * sorted(times)[len(times) // 2]


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
