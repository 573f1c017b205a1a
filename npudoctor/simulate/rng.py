"""Random numbers: the device draws from the host's generator, so that results equal the CPU's.

On a real NPU the device has its own generator and its own numbers. Here one stream of numbers
serves both, as it does when the same script runs on the CPU. Only a script that seeds the
device differently from the host (`torch.npu.manual_seed(7)` after `torch.manual_seed(1)`)
gets a device generator of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from npudoctor.simulate import devices

_own: dict[int, torch.Generator] = {}
_seed_custom_device = getattr(torch.random, "_seed_custom_device", None)


def own(index: int) -> torch.Generator | None:
    """The device's own generator, if the script gave it one."""
    return _own.get(index)


def manual_seed_all(seed: int) -> None:
    """Seed every device."""
    if _seed_custom_device is not None and sys._getframe(1).f_code is _seed_custom_device.__code__:
        _own.clear()  # torch.manual_seed seeds host and device alike
        return
    for index in range(devices.count):
        seed_device(int(seed), index)


def manual_seed(seed: int) -> None:
    """Seed the current device."""
    seed_device(int(seed), devices.current())


def seed_device(seed: int, index: int) -> None:
    """Seed one device; the host's own seed keeps it on the host's generator."""
    if seed == torch.default_generator.initial_seed():
        _own.pop(index, None)
    else:
        _own[index] = torch._C.Generator().manual_seed(seed)


def get_rng_state(device: Any = "npu") -> torch.Tensor:
    """State of a device's generator, a host tensor of bytes."""
    return (_own.get(devices.resolve(device)) or torch.default_generator).get_state()


def set_rng_state(state: torch.Tensor, device: Any = "npu") -> None:
    """Restore what `get_rng_state` gave."""
    (_own.get(devices.resolve(device)) or torch.default_generator).set_state(state)


def initial_seed() -> int:
    """Seed of the current device's generator."""
    return (_own.get(devices.current()) or torch.default_generator).initial_seed()


def drawing(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel that draws: use the device's own generator when it has one."""

    def wrapped(*args: Any, **kw: Any) -> Any:
        if not _own or kw.get("generator") is not None:
            return kernel(*args, **kw)
        generator = _own.get(_device_of(args, kw))
        if generator is None:
            return kernel(*args, **kw)
        host = torch.default_generator
        saved = host.get_state()
        host.set_state(generator.get_state())
        try:
            return kernel(*args, **kw)
        finally:
            generator.set_state(host.get_state())
            host.set_state(saved)

    return wrapped


def _device_of(args: Any, kw: Any) -> int:
    for value in args:
        if isinstance(value, torch.Tensor) and value.device.type == "npu":
            return int(value.device.index)
    return devices.resolve(kw.get("device"))


class _Meta(type(torch._C.Generator)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)


class Generator(torch._C.Generator, metaclass=_Meta):
    """`torch.Generator` that also answers to `device="npu"`."""

    _npu: int | None

    def __new__(cls, device: Any = "cpu") -> Any:
        if torch.device(device).type != "npu":
            return torch._C.Generator(device)
        self: Any = super().__new__(cls, "cpu")  # type: ignore[call-arg]
        self._npu = devices.resolve(device)
        return self

    def __init__(self, device: Any = "cpu") -> None:
        """Everything happens in `__new__`."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("npu", self._npu or 0)
