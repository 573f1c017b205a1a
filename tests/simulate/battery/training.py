"""Optimizers, autocast, scalers, compile, memory: what a training loop touches."""

from __future__ import annotations

import copy

import torch
from torch import nn

from tests.simulate.battery.tools import same


def _train(name: str, **options: object) -> None:
    torch.manual_seed(0)
    host, data = nn.Linear(3, 2), torch.randn(4, 3)
    device = copy.deepcopy(host).to("npu")
    pairs = ((host, data), (device, data.to("npu")))
    optimizers = [getattr(torch.optim, name)(net.parameters(), lr=0.1, **options) for net, _ in pairs]
    for _ in range(3):
        for (net, x), optimizer in zip(pairs, optimizers):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
    same(host.weight.data, device.weight.data)


def check_optimizers() -> None:
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        _train(name)
        _train(name, foreach=True)
        if name != "RMSprop":
            _train(name, fused=True)


def check_an_optimizer_made_before_the_move_follows() -> None:
    network = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    weight = network.weight
    network.to("npu")
    assert network.weight is weight
    before = weight.detach().clone()
    network(torch.randn(4, 3, device="npu")).sum().backward()
    optimizer.step()
    assert not torch.equal(before, weight)
    network.to("cpu")
    assert network.weight is weight
    network(torch.randn(4, 3)).sum().backward()


def check_autocast() -> None:
    network, data = nn.Linear(3, 2).to("npu"), torch.randn(4, 3, device="npu")
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast("npu", dtype=dtype):
            out = network(data)
            assert out.dtype == dtype
            assert out.softmax(-1).dtype == torch.float32
    with torch.npu.amp.autocast():
        assert network(data).dtype == torch.float16
    assert network(data).dtype == torch.float32
    assert network.half()(data.half()).dtype == torch.float16


def check_grad_scaler() -> None:
    network, data = nn.Linear(3, 2).to("npu"), torch.randn(4, 3, device="npu")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    before = network.weight.detach().clone()
    for scaler in (torch.amp.GradScaler("npu"), torch.npu.amp.GradScaler()):
        optimizer.zero_grad()
        scaler.scale(network(data).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    assert not torch.equal(before, network.weight)


def check_compile_runs_as_it_is() -> None:
    network = nn.Linear(3, 2).to("npu")
    data = torch.randn(4, 3, device="npu")
    assert torch.equal(torch.compile(network)(data), network(data))


def check_streams_and_events() -> None:
    stream, start, end = torch.npu.Stream(), *(torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    with torch.npu.stream(stream):
        out = torch.ones(2, device="npu") * 2
        assert torch.npu.current_stream() is stream
    end.record()
    torch.npu.current_stream().wait_stream(stream)
    end.synchronize()
    out.record_stream(stream)
    assert start.elapsed_time(end) >= 0


def check_memory_is_counted() -> None:
    before = torch.npu.memory_allocated()
    big = torch.zeros(1000, 1000, device="npu")
    view = big[10:]
    assert torch.npu.memory_allocated() - before == 4_000_000
    del big
    assert torch.npu.memory_allocated() - before == 4_000_000
    del view
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= before + 4_000_000
