"""Page-locked host memory: remembered per storage, so that views of it count as pinned too."""

from __future__ import annotations

import weakref
from typing import Any

_pinned: weakref.WeakSet = weakref.WeakSet()


def pin(tensor: Any) -> Any:
    """A copy of a host tensor in (simulated) page-locked memory; a pinned one is returned as it is."""
    if tensor.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    if is_pinned(tensor):
        return tensor
    copy = tensor.clone()
    _pinned.add(copy.untyped_storage())
    return copy


def is_pinned(tensor: Any) -> bool:
    """Whether a host tensor lies in memory that `pin` made."""
    return tensor.device.type == "cpu" and tensor.untyped_storage() in _pinned
