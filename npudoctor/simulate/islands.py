"""Composite operators that PyTorch computes by another route on the CPU than on other devices.

Recurrent layers (oneDNN) and attention (a flash kernel) decide by the device of their input. To
give the CPU's numbers they run as a whole on host tensors over the same memory, gradients
included, and count as one launch forward and one backward, as the fused kernels of an NPU do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npudoctor.simulate import live
from npudoctor.simulate.aten import mapped
from npudoctor.simulate.bridge import CELLS, HOST, device_cell, to_capsule, to_device, to_host

NAMES = (
    "lstm.input", "lstm.data", "gru.input", "gru.data", "rnn_tanh.input", "rnn_tanh.data",
    "rnn_relu.input", "rnn_relu.data", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
    "scaled_dot_product_attention",
)


class ToHost(torch.autograd.Function):
    """A device tensor as a host tensor; its gradient comes back as a device tensor."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, code: int) -> Any:
        ctx.code = code
        return to_host(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        live.allocated(gradient, ctx.code, None)
        return to_device(gradient, ctx.code), None


class ToDevice(torch.autograd.Function):
    """A host tensor as a device tensor; its gradient comes back as a host tensor."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, code: int, name: str) -> Any:
        ctx.name = name
        live.allocated(tensor, code, None)
        return to_device(tensor, code)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        live.launch(f"{ctx.name}_backward")
        return to_host(gradient), None, None


def island(overload: Any) -> Callable[..., Any]:
    """A kernel that runs `overload` on host tensors, with gradients when the caller wants them."""
    name = overload._schema.name.replace("aten::", "")

    def kernel(*args: Any, **kw: Any) -> Any:
        code = _code_of(args)
        host = mapped(args, lambda t: _host(t, code, name))
        kw = {key: mapped(value, lambda t: _host(t, code, name)) for key, value in kw.items()}
        result = overload(*host, **kw)
        live.launch(name)
        return mapped(result, lambda t: ToDevice.apply(t, code, name))

    return kernel


def _code_of(values: Any) -> int:
    """The device word of the first device tensor."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.device.type == "npu":
                return CELLS[device_cell(to_capsule(value.detach()))]
        elif isinstance(value, (tuple, list)):
            code = _code_of(value)
            if code:
                return code
    return 0


def _host(tensor: Any, code: int, name: str) -> Any:
    from npudoctor.simulate.kernels import odd

    capsule = to_capsule(tensor.detach())
    here = CELLS[device_cell(capsule)]
    if here == code:
        return ToHost.apply(tensor, code)
    if here == HOST and tensor.dtype == torch.int64 and tensor.dim() == 1:
        return tensor  # batch sizes of a packed sequence live on the host
    return odd(name, tensor, here, code)


__all__ = ["NAMES", "island"]
