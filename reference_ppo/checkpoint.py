"""Checkpoints: atomic, loadable without executing anything, on any device."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reference_ppo.errors import UsageError

if TYPE_CHECKING:
    from reference_ppo.policy import Policy

FORMAT = "reference_ppo/3"
"""Of a checkpoint. 1 held the two networks one after the other, 2 layer by layer; 3 differs from 2 in the
policy's head alone, which is (K, H) and was (H, K)."""
READABLE = (FORMAT, "reference_ppo/2")


def of_rank(path: Path, rank: int) -> Path:
    """Every process of a distributed run has environments of its own, hence a file of its own."""
    return path if rank == 0 else path.with_name(f"{path.name}.rank{rank}")


def save(path: Path, state: dict[str, Any]) -> None:
    """Write next to the target, flush to disk, rename: a reader sees the old file or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: Path) -> dict[str, Any]:
    """Read on the CPU with `weights_only=True`: a checkpoint is data, never code.

    Raises:
        UsageError: not a checkpoint of this program.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise UsageError(f"{path} is not a checkpoint that can be loaded safely: {error}") from error
    if not isinstance(state, dict) or not str(state.get("format")).startswith("reference_ppo/"):
        raise UsageError(f"{path} is not a reference_ppo checkpoint")
    if state["format"] not in READABLE:
        raise UsageError(
            f"{path} was written by another version, whose weights lie in another order: its format is "
            f"{state['format']}, this version reads {' and '.join(READABLE)}. Train again, or use the "
            "version that wrote it"
        )
    return state


def in_order(x: Tensor, written: str, policy: Policy) -> Tensor:
    """theta, or one of its moments (P,), from a checkpoint of format `written`, in the order of `policy`."""
    if written == FORMAT:
        return x
    parts = dict(zip(policy.shapes, x.split(policy.sizes)))
    k, h = policy.shapes["pi.w"]
    parts["pi.w"] = parts["pi.w"].view(h, k).t().flatten()
    return torch.cat(list(parts.values()))
