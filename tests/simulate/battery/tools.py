"""Helpers of the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def same(host: Any, device: Any) -> None:
    """Equal bit for bit, and the second one is on the device."""
    assert device.device.type == "npu", device.device
    assert host.dtype == device.dtype
    assert torch.equal(host, device.cpu()), (host - device.cpu()).abs().max()


def fails(action: Callable[[], Any], kind: type[BaseException], *words: str) -> None:
    """`action` raises `kind` with all the words in its message."""
    said = None
    try:
        action()
    except kind as error:
        said = str(error)
    assert said is not None, f"no {kind.__name__}"
    missing = [word for word in words if word not in said]
    assert not missing, (missing, said)
