"""The hot path between kernels and the recorder: one call per operator, nothing else.

`recorder` is None while no simulation records; then the calls return at once.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from npudoctor.simulate.recorder import BATCH, Recorder

recorder: Recorder | None = None
_blocks: dict[int, Any] = {}


class Block(weakref.ref):
    """A weak reference to a host storage that stands for device memory; its death is a free."""

    __slots__ = ("event", "owner")
    event: tuple
    owner: list


def launch(name: str, work: int = 0) -> tuple | None:
    """Note one kernel launch; returns the user's position.

    Args:
        work: bytes written, or minus the floating point operations of a matrix product.
    """
    live = recorder
    if live is None:
        return None
    frame: Any = sys._getframe(2)
    library = live.library
    where = None
    while frame is not None:
        code = frame.f_code
        key = id(code)
        inside = library.get(key)
        if inside is None:
            inside = live.classify(code)
        if not inside:
            where = (key, frame.f_lasti)
            break
        frame = frame.f_back
    events = live.events
    events.append((name, where, work))
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
    nbytes = storage.nbytes()
    block.event = (-nbytes, code, where)
    block.owner = blocks = live.blocks
    _blocks[id(block)] = block
    blocks.append((nbytes, code, where))
    if len(blocks) >= BATCH:
        live.fold()


def _freed(block: Any) -> None:
    del _blocks[id(block)]
    block.owner.append(block.event)
