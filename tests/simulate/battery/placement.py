"""Where tensors are, and what happens when they are not where they should be."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tests.simulate.battery.tools import fails, same

SAME = "Expected all tensors to be on the same device"


def check_mixing_devices_is_refused() -> None:
    host = torch.randn(4, 3)
    device = host.to("npu")
    fails(lambda: host + device, RuntimeError, SAME, "npu:0", "cpu")
    fails(lambda: device + host, RuntimeError, SAME)
    fails(lambda: nn.Linear(3, 2)(device), RuntimeError, SAME)
    fails(lambda: torch.cat([host, device]), RuntimeError, SAME)
    fails(lambda: device + torch.ones(4, 3, device="npu:1"), RuntimeError, SAME, "npu:0", "npu:1")


def check_a_host_scalar_mixes() -> None:
    host = torch.randn(4, 3)
    same(host + 2, host.to("npu") + torch.tensor(2.0))
    same(2 + host, torch.tensor(2.0) + host.to("npu"))


def check_no_numpy_without_cpu() -> None:
    device = torch.ones(2, device="npu")
    fails(device.numpy, TypeError, "can't convert npu:0 device type tensor to numpy")
    fails(lambda: np.asarray(device), TypeError, "can't convert npu:0 device type tensor to numpy")


def check_a_missing_device_is_refused() -> None:
    fails(lambda: torch.ones(2, device="npu:7"), RuntimeError, "Invalid NPU device ID 7")
    fails(lambda: torch.ones(2).to("npu:7"), RuntimeError, "Invalid NPU device ID 7")
    fails(lambda: torch.npu.set_device(7), RuntimeError, "Invalid NPU device ID 7")


def check_device_indices_on_a_host_tensor_are_refused() -> None:
    host = torch.randn(3)
    fails(lambda: host[torch.tensor([1], device="npu")], RuntimeError, "indices should be either on")


def check_the_current_device_is_meant_without_an_index() -> None:
    with torch.npu.device(1):
        assert torch.ones(2, device="npu").device.index == 1
        assert torch.ones(2).to("npu").device.index == 1
        assert torch.tensor([1.0], device="npu").device.index == 1
        assert nn.Linear(2, 2).to("npu").weight.device.index == 1
    assert torch.ones(2, device="npu").device.index == 0


def check_default_device() -> None:
    with torch.device("npu"):
        assert torch.zeros(2).device.type == "npu"
        assert nn.Linear(2, 2).weight.device.type == "npu"


def check_factories_and_likes() -> None:
    device = torch.ones(2, 3, device="npu")
    for made in (device.new_zeros(2), torch.zeros_like(device), device.new_tensor([1.0]),
                 torch.zeros_like(torch.ones(2), device="npu"), torch.arange(3, device="npu"),
                 torch.full((2,), 7.0, device="npu"), torch.as_tensor(np.ones(3), device="npu")):
        assert made.device.type == "npu"
    assert torch.empty_like(device, device="cpu").device.type == "cpu"


def check_copies_between_devices() -> None:
    host = torch.randn(3)
    second = host.to("npu:0").to("npu:1")
    assert second.device.index == 1
    same(host, second)
    same(host, torch.empty(3, device="npu:0").copy_(second))


def check_sparse_tensors_are_refused() -> None:
    fails(torch.eye(3, device="npu").to_sparse, NotImplementedError, "no sparse tensors")


def check_pinned_memory() -> None:
    host = torch.randn(4)
    pinned = host.pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert not host.is_pinned()
    same(host, pinned.to("npu", non_blocking=True))
