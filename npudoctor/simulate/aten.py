"""PyTorch's operators by name, and their nested arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def operator(name: str) -> Any:
    """The operator `name` (`add.Tensor`, `copy_`).

    Raises:
        AttributeError: this PyTorch lacks it.
    """
    base, _, variant = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), variant or "default")


def mapped(values: Any, change: Callable[[Any], Any]) -> Any:
    """`values` with `change` applied to every tensor in it, however deep in lists and tuples."""
    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, (tuple, list)):
        return type(values)(mapped(value, change) for value in values)
    return values
