"""What the child programs share: events, opening the device, waiting for it."""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any


def emit(event: str, **fields: Any) -> None:
    """Write one JSON line; the newline in front cuts off whatever was printed without one."""
    sys.stdout.write("\n" + json.dumps({"event": event, **fields}, default=str) + "\n")
    sys.stdout.flush()


def open_device(name: str, index: int = 0) -> Any:
    """The `torch.device` for `cpu`, `npu` or `sim`, ready for use.

    Args:
        index: which NPU, for a rank of several.

    Raises:
        ImportError, OSError: torch, torch_npu or a library under them does not load.
        RuntimeError: the NPU was asked for and there is none.
    """
    import torch

    torch.set_num_threads(1)
    if name == "cpu":
        return torch.device("cpu")
    if name == "sim":
        simulate()
        return torch.device("npu:0")
    if not hasattr(torch, "npu"):
        import torch_npu  # noqa: F401  # torch before 2.5 does not load it by itself
    npu: Any = torch.npu  # type: ignore[attr-defined]
    if not npu.is_available():
        raise RuntimeError("torch.npu.is_available() is False")
    npu.set_device(index)
    return torch.device(f"npu:{index}")


@functools.cache
def simulate() -> Any:
    """Make `npu` a simulated device for the rest of this process; only the first call acts."""
    import torch

    if getattr(getattr(torch, "npu", None), "is_simulated", False):
        return None  # whoever started this interpreter has done so
    simulation = importlib.import_module("npudoctor.simulate").device()
    simulation.__enter__()
    return simulation


def wait(device: Any) -> None:
    """Block until the device has finished; nothing to wait for on the CPU."""
    if device.type == "npu":
        import torch

        torch.npu.synchronize()  # type: ignore[attr-defined]


def guarded(job: Callable[[list[str]], int], args: list[str]) -> int:
    """Run a program's `job`; whatever it raises becomes a `failed` event and exit code 1."""
    try:
        return job(args)
    except BaseException as error:  # a broken backend may raise anything, SystemExit included
        emit("failed", error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        return 1


class Clock:
    """Wall time in seconds since construction."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._start
