"""Threads, process groups, and the counting of environments."""

from __future__ import annotations

import tempfile
import threading
from typing import Any

import torch
from torch import distributed

from npudoctor.simulate import envsteps, live
from tests.simulate.battery.tools import same


def check_counts_are_exact_with_threads() -> None:
    recorder: Any = live.recorder

    def kernels() -> int:
        recorder.fold()
        return sum(recorder.kernels.values())

    data = torch.ones(8, device="npu")
    before = kernels()

    def work() -> None:
        for _ in range(500):
            data.add(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kernels() - before == 4 * 500


def check_hccl_is_gloo() -> None:
    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("hccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            data = torch.arange(4.0, device="npu")
            distributed.all_reduce(data)
            same(torch.arange(4.0), data)
            gathered = [torch.zeros(4, device="npu")]
            distributed.all_gather(gathered, data)
            same(torch.arange(4.0), gathered[0])
            network = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).to("npu"))
            network(data).sum().backward()
            assert network.module.weight.grad.device.type == "npu"
        finally:
            distributed.destroy_process_group()


def check_only_outermost_steps_count() -> None:
    class Env:
        num_envs = 3

        def step(self, action: int) -> int:
            return action

    class Wrapper(Env):
        def __init__(self, inner: Env) -> None:
            self.inner = inner

        def step(self, action: int) -> int:
            return self.inner.step(action)

    for cls in (Env, Wrapper):
        envsteps.wrap(cls)
    recorder: Any = live.recorder
    recorder.fold()
    before = recorder.steps
    assert Wrapper(Env()).step(5) == 5
    recorder.fold()
    assert recorder.steps - before == 3


def check_steps_and_phases_of_ones_own() -> None:
    import npudoctor.simulate as simulate

    recorder: Any = live.recorder
    recorder.fold()
    before = recorder.steps
    torch.ones(3, device="npu").add_(1)
    simulate.step(4)
    torch.ones(3, device="npu").add_(1)
    simulate.phase("warm-up")
    recorder.fold()
    assert recorder.steps - before == 4
    assert "warm-up" in recorder.phases
