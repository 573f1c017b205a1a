"""Run code that says "cuda" on another device: the CPU, or the simulated NPU.

Only `migrate --verify` and `simulate --cuda-as-npu` use it: the first to obtain the original's
numbers on a machine without a GPU, the second to count the syncs of code that is not migrated yet.
A `TorchFunctionMode` rewrites the device arguments of every PyTorch call; the functions of
`torch.cuda` answer for the other device.
"""

from __future__ import annotations

import types
from contextlib import ExitStack
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from npudoctor.simulate.swap import swap

_CONSTANT = {
    "is_available": True, "is_initialized": True, "is_bf16_supported": True, "get_device_capability": (8, 0),
    "utilization": 0, "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
    "max_memory_reserved": 0,
}
_NOTHING = (
    "init", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "ipc_collect",
    "reset_peak_memory_stats", "set_per_process_memory_fraction", "set_sync_debug_mode",
)


class Redirect(TorchFunctionMode):
    """Replaces `cuda` by `target` in the arguments of PyTorch functions."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {key: self.moved(value) for key, value in (kwargs or {}).items()}
        name = getattr(func, "__name__", "")
        if name == "cuda":
            return args[0].to(self.target)
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.is_cuda:
            return args[0].device.type == self.target
        return func(*[self.moved(value) for value in args], **kwargs)

    def moved(self, value: Any) -> Any:
        """The target's device for a CUDA device or its name; anything else unchanged."""
        if isinstance(value, str) and value.partition(":")[0] == "cuda":
            return self._name(value.partition(":")[2])
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device(self._name("" if value.index is None else str(value.index)))
        return value

    def _name(self, index: str) -> str:
        return f"{self.target}:{index}" if index and self.target != "cpu" else self.target


def apply(stack: ExitStack, target: str) -> None:
    """Redirect `cuda` to `target` (`cpu` or `npu`) until `stack` closes."""
    stack.enter_context(Redirect(target))
    module = torch.get_device_module("npu") if target == "npu" else _host_module()
    for name in dir(torch.cuda):
        if name.startswith("_"):
            continue
        if hasattr(module, name) and callable(getattr(module, name)):
            swap(stack, torch.cuda, name, getattr(module, name))
    swap(stack, torch.nn.Module, "cuda", lambda self, device=None: self.to(target))
    swap(stack, torch.Tensor, "cuda", lambda self, device=None, **kw: self.to(target))
    redirect = Redirect(target)
    swap(stack, torch.amp.autocast_mode.autocast, "__init__", _autocast(redirect))
    swap(stack, torch, "load", _load(redirect))


def _autocast(redirect: Redirect) -> Any:
    original = torch.amp.autocast_mode.autocast.__init__

    def init(self: Any, device_type: str, *args: Any, **kw: Any) -> None:
        original(self, redirect.moved(device_type), *args, **kw)

    return init


def _load(redirect: Redirect) -> Any:
    original = torch.load

    def load(f: Any, map_location: Any = None, *args: Any, **kw: Any) -> Any:
        return original(f, redirect.moved(map_location), *args, **kw)

    return load


def _host_module() -> types.SimpleNamespace:
    """`torch.cuda` for a run on the CPU: one device, nothing to wait for."""
    module = types.SimpleNamespace(
        device_count=lambda: 1, current_device=lambda: 0, get_device_name=lambda device=None: "cpu",
    )
    for name, value in _CONSTANT.items():
        setattr(module, name, lambda *_, _value=value, **__: _value)
    for name in _NOTHING:
        setattr(module, name, lambda *_, **__: None)
    return module
