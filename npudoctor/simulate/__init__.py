"""A simulated NPU: run PyTorch code written for Ascend anywhere, and see what makes the host wait.

`with npudoctor.simulate.device() as recorder:` activates it for a block; `npudoctor simulate`
runs a script on it. Importing this package imports neither torch nor anything heavy.
Everything computed is the CPU's result; every time printed is an estimate, and says so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from npudoctor.simulate.options import Options

__all__ = ["Options", "device", "phase", "step"]


def step(environments: int = 1) -> None:
    """Say that environment steps ended, where the environment is of no class that is counted by itself.

    Does nothing unless a simulation is active, so it may stay in the program.
    """
    _mark("rollout", environments)


def phase(name: str) -> None:
    """Say that what ran since the last mark was phase `name` (`rollout` and `update` come by themselves)."""
    _mark(name, 0)


def _mark(name: str, steps: int) -> None:
    live = sys.modules.get("npudoctor.simulate.live")
    if live is not None and live.recorder is not None:
        live.recorder.mark(name, steps)


@contextmanager
def device(**options: Any) -> Iterator[Any]:
    """Make `npu` a (simulated) device inside the block and record what happens on it.

    Args:
        options: fields of `Options`, such as `device_count=2`.

    Yields:
        The `Recorder`; `npudoctor.simulate.summary.summarise(recorder)` turns it into numbers.

    Raises:
        UserError: this process cannot simulate (no torch, too old, another backend).
    """
    from npudoctor.simulate import backend

    recorder = backend.activate(Options(**options))
    try:
        yield recorder
    finally:
        backend.deactivate()
