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
    try:
        action()
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, (missing, str(error))
        return
    raise AssertionError(f"no {kind.__name__}")
