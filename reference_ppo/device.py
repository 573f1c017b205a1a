"""Device strings. The only place that knows that an NPU needs a plug-in."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

import torch

from reference_ppo.errors import UsageError


def open_device(name: str) -> torch.device:
    """`cpu`, `cuda:1`, `npu`, ... as a torch device that is ready for use.

    `npu` imports `torch_npu`, which registers the device, unless something (a simulator) already has.

    Raises:
        UsageError: the device cannot be used; the message says why.
    """
    if name.split(":")[0] == "npu" and getattr(torch, "npu", None) is None:
        try:
            importlib.import_module("torch_npu")
        except Exception as error:
            raise UsageError(
                f"device npu needs torch_npu, and importing it failed: {first_line(error)}"
            ) from error
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"device {name} cannot be used: {first_line(error)}") from error
    return device


def first_line(error: BaseException) -> str:
    """What went wrong, without the stack that some libraries append."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def local_device(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Under torchrun, each process of a host takes the accelerator with its own local rank."""
    rank = environ.get("LOCAL_RANK")
    return name if rank is None or name == "cpu" or ":" in name else f"{name}:{rank}"


def synchronize(device: torch.device) -> None:
    """Wait for the device's queue. For timing only; nothing in the algorithm needs it."""
    module: Any = getattr(torch, device.type, None)
    if device.type != "cpu" and hasattr(module, "synchronize"):
        module.synchronize()
