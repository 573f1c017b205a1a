"""A simulated NPU: run PyTorch code written for Ascend anywhere, and see what makes the host wait.

`with npudoctor.simulate.device() as recorder:` activates it for a block; `npudoctor simulate`
runs a script on it. Importing this package imports neither torch nor anything heavy.
Everything computed is the CPU's result; every time printed is an estimate, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from npudoctor.simulate.options import Options

__all__ = ["Options", "device"]


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
