"""What the child programs share: events, opening the device, waiting for it."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def emit(event: str, **fields: Any) -> None:
    """Write one JSON line; the newline in front cuts off whatever was printed without one."""
    sys.stdout.write("\n" + json.dumps({"event": event, **fields}, default=str) + "\n")
    sys.stdout.flush()


def open_device(name: str) -> Any:
    """The `torch.device` for `cpu`, `npu` or `sim`, ready for use.

    Raises:
        ImportError, OSError: torch, torch_npu or a library under them does not load.
        RuntimeError: the NPU was asked for and there is none.
    """
    import torch

    torch.set_num_threads(1)
    if name == "cpu":
        return torch.device("cpu")
    if name == "sim":
        raise RuntimeError("the simulated NPU is not part of this installation")
    if not hasattr(torch, "npu"):
        import torch_npu  # noqa: F401  # torch before 2.5 does not load it by itself
    npu: Any = torch.npu  # type: ignore[attr-defined]
    if not npu.is_available():
        raise RuntimeError("torch.npu.is_available() is False")
    npu.set_device(0)
    return torch.device("npu:0")


def wait(device: Any) -> None:
    """Block until the device has finished; nothing to wait for on the CPU."""
    if device.type == "npu":
        import torch

        torch.npu.synchronize()  # type: ignore[attr-defined]


class Clock:
    """Wall time in seconds since construction."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._start
