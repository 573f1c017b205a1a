"""`torch.npu` and `torch_npu`: they say that they are simulated, and fail like the real ones."""

from __future__ import annotations

import torch

from tests.simulate.battery.tools import fails


def check_the_module_says_that_it_is_simulated() -> None:
    import torch_npu
    from torch_npu.npu import synchronize

    assert "SIMULATED" in torch_npu.__doc__
    assert torch_npu.__version__.endswith("+simulated")
    assert torch_npu.npu is torch.npu
    assert "simulated" in torch.npu.get_device_name(0)
    assert "SIMULATED" in torch.npu.__doc__
    synchronize()


def check_a_name_that_torch_npu_lacks_is_missing() -> None:
    import torch_npu

    fails(lambda: torch.npu.frobnicate, AttributeError, "frobnicate")
    fails(lambda: torch_npu.frobnicate, AttributeError, "frobnicate")
    assert not hasattr(torch.npu, "cudnn")


def check_a_name_that_is_not_simulated_says_so() -> None:
    import torch_npu

    fails(torch.npu.NPUGraph, NotImplementedError, "exists in torch_npu")
    fails(lambda: torch_npu.npu_rotary_mul(1), NotImplementedError, "exists in torch_npu")


def check_counts_and_legacy_types() -> None:
    assert torch.npu.device_count() == 2
    assert torch.accelerator.device_count() == 2
    assert torch.npu.FloatTensor([1.0, 2.0]).device.type == "npu"
    assert torch.ones(2).npu().is_npu
    assert torch.nn.Linear(2, 2).npu().weight.is_npu
