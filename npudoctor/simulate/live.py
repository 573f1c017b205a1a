"""The hot path between kernels and the recorder: two calls per operator, nothing else.

`recorder` is None while no simulation records; then the calls return at once.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from npudoctor.simulate.recorder import ALLOC, BATCH, FREE, KERNEL, Recorder

recorder: Recorder | None = None
_blocks: dict[int, Any] = {}


class Block(weakref.ref):
    """A weak reference to a host storage that stands for device memory; its death is a free."""

    __slots__ = ("device", "nbytes", "owner", "where")
    device: int
    nbytes: int
    owner: Recorder
    where: tuple | None


def launch(name: str) -> tuple | None:
    """Note one kernel launch; returns the user's position."""
    live = recorder
    if live is None:
        return None
    frame: Any = sys._getframe(2)
    library = live._library
    where = None
    while frame is not None:
        code = frame.f_code
        key = id(code)
        inside = library.get(key)
        if inside is None:
            inside = live._classify(code)
        if not inside:
            where = (key, frame.f_lasti)
            break
        frame = frame.f_back
    events = live.events
    events.append((KERNEL, name, where))
    if len(events) >= BATCH:
        live.fold()
    return where


def allocated(host: Any, code: int, where: tuple | None) -> None:
    """Note that the storage under a fresh host tensor is device memory from now on."""
    live = recorder
    if live is None:
        return
    storage = host.untyped_storage()
    block = Block(storage, _freed)
    block.nbytes = nbytes = storage.nbytes()
    block.device = code
    block.where = where
    block.owner = live
    _blocks[id(block)] = block
    live.events.append((ALLOC, nbytes, code, where))


def _freed(block: Any) -> None:
    _blocks.pop(id(block), None)
    block.owner.events.append((FREE, block.nbytes, block.device, block.where))
