"""How many simulated devices there are, and which one each thread has chosen."""

from __future__ import annotations

import os
import threading
from typing import Any

count = 1
_process = {"used": False, "forked": False}
_local = threading.local()


def current() -> int:
    """Index of the calling thread's current device."""
    return getattr(_local, "index", 0)


def choose(index: int) -> int:
    """Make `index` current for this thread; returns the one before."""
    before = current()
    _local.index = check(index)
    return before


def check(index: int) -> int:
    """`index` itself, if there is such a device.

    Raises:
        RuntimeError: no device of this index, in the words of torch_npu's device check.
    """
    if not 0 <= index < count:
        raise RuntimeError(
            f"Invalid NPU device ID {index}: {count} simulated device(s), valid IDs are 0 to {count - 1}."
        )
    return index


def _after_fork() -> None:
    _process["forked"] = _process["used"]


os.register_at_fork(after_in_child=_after_fork)


def use() -> None:
    """Whoever makes something on a device passes here.

    Raises:
        RuntimeError: in a child forked after its parent used a device, as with torch_npu.
    """
    if _process["forked"]:
        raise RuntimeError(
            "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
            "you must use the 'spawn' start method"
        )
    _process["used"] = True


def in_bad_fork() -> bool:
    """Whether this process was forked from one that had used a device."""
    return _process["forked"]


def resolve(device: Any) -> int:
    """Index for a device, an index, a name, or None (the current one)."""
    use()
    if device is None:
        return current()
    if isinstance(device, int):
        return current() if device < 0 else check(device)
    if isinstance(device, str):
        import torch

        device = torch.device(device)
    if device.type != "npu":
        raise ValueError(f"Expected an npu device, but got: {device}")
    return current() if device.index is None else check(device.index)
