"""Python functions of PyTorch that have no hook for a device written in Python.

Each is replaced while a simulation is active and restored afterwards.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from npudoctor.simulate import devices, live, pinned, rng
from npudoctor.simulate.swap import swap


def apply(stack: ExitStack) -> None:
    """Put every replacement in place; closing `stack` restores the originals."""
    swap(stack, torch.Tensor, "pin_memory", lambda self, device=None: pinned.pin(self))
    swap(stack, torch.Tensor, "is_pinned", lambda self, device=None: pinned.is_pinned(self))
    swap(stack, torch, "Generator", rng.Generator)
    swap(stack, torch.UntypedStorage, "__new__", staticmethod(_storage))
    swap(stack, torch.Tensor, "record_stream", _record_stream(torch.Tensor.record_stream))
    swap(stack, torch, "compile", _compile)
    if devices.count > 1:
        _current_device(stack)
    _backward(stack)


def _record_stream(original: Any) -> Any:
    def record_stream(self: Any, stream: Any) -> None:
        if self.device.type != "npu":
            original(self, stream)

    return record_stream


def _compile(model: Any = None, **options: Any) -> Any:
    """`torch.compile` has no code generator for the simulated device: the model runs as it is."""
    if model is None:
        return lambda given: _compile(given, **options)
    if live.recorder is not None:
        live.recorder.notes["torch.compile"] += 1
    return model


def _current_device(stack: ExitStack) -> None:
    """`"npu"` without an index means the current device, which PyTorch's C++ cannot ask Python for."""
    for owner, name in ((torch.Tensor, "to"), (torch.Tensor, "npu"), (torch, "tensor"), (torch, "as_tensor")):
        swap(stack, owner, name, _indexed(getattr(owner, name), name == "npu"))


def _indexed(original: Any, always: bool) -> Any:
    def call(*args: Any, **kw: Any) -> Any:
        if devices.current():
            args = (args[0], *(_with_index(a) for a in args[1:]))
            if "device" in kw:
                kw["device"] = _with_index(kw["device"])
            if always and len(args) == 1 and "device" not in kw:
                args = (*args, torch.device("npu", devices.current()))
        return original(*args, **kw)

    return call


def _with_index(value: Any) -> Any:
    if value == "npu" or (isinstance(value, torch.device) and value.type == "npu" and value.index is None):
        return torch.device("npu", devices.current())
    return value


def _storage(cls: Any, *args: Any, device: Any = None, **kw: Any) -> Any:
    """`torch.UntypedStorage(size, device="npu")`: PyTorch has no allocator for a Python backend."""
    if device is None or torch.device(device).type != "npu":
        given = kw if device is None else {"device": device, **kw}
        return torch._C.StorageBase.__new__(cls, *args, **given)
    size = args[0] if args and isinstance(args[0], int) else 0
    return torch.empty(size, dtype=torch.uint8, device=device).untyped_storage()


def _backward(stack: ExitStack) -> None:
    """Run backward passes on the calling thread.

    PyTorch gives each accelerator a thread of its own. On the caller's thread the results are
    the same, nothing waits for a thread switch, and the stack still shows who called backward.
    """
    from torch.autograd import graph

    original = graph._engine_run_backward

    def run(*args: Any, **kw: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            result = original(*args, **kw)
        if live.recorder is not None:
            live.recorder.mark("update", 0)
        return result

    for module in (graph, torch.autograd):
        swap(stack, module, "_engine_run_backward", run)
