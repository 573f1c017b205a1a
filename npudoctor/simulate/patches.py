"""Python functions of PyTorch that have no hook for a device written in Python.

Each is replaced while a simulation is active and restored afterwards.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from npudoctor.simulate import pinned, rng


def apply(stack: ExitStack) -> None:
    """Put every replacement in place; closing `stack` restores the originals."""
    _swap(stack, torch.Tensor, "pin_memory", lambda self, device=None: pinned.pin(self))
    _swap(stack, torch.Tensor, "is_pinned", lambda self, device=None: pinned.is_pinned(self))
    _swap(stack, torch, "Generator", rng.Generator)
    _backward(stack)


def _swap(stack: ExitStack, owner: Any, name: str, new: Any) -> None:
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, new)
    if own:
        stack.callback(setattr, owner, name, before)
    else:
        stack.callback(delattr, owner, name)


def _backward(stack: ExitStack) -> None:
    """Run backward passes on the calling thread.

    PyTorch gives each accelerator a thread of its own. On the caller's thread the results are
    the same, nothing waits for a thread switch, and the stack still shows who called backward.
    """
    from torch.autograd import graph

    original = graph._engine_run_backward

    def run(*args: Any, **kw: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            return original(*args, **kw)

    for module in (graph, torch.autograd):
        _swap(stack, module, "_engine_run_backward", run)
