"""The hot path between kernels and the recorder: one call per operator, nothing else.

`recorder` is None while no simulation records; then the calls return at once.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from npudoctor.simulate.recorder import BATCH, BLOCKS, Recorder

recorder: Recorder | None = None


class Block(weakref.ref):
    """A weak reference to a host storage that stands for device memory; its death is a free."""

    __slots__ = ("device", "nbytes", "where")
    device: int
    nbytes: int
    where: tuple | None


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
        try:
            inside = library[key]
        except KeyError:
            inside = live.classify(code)
        if not inside:
            where = (key, frame.f_lasti)
            where = live.places.setdefault(where, where)
            break
        frame = frame.f_back
    events = live.events
    events += (name, where, work, None)
    if len(events) >= BATCH:
        live.fold()
    return where


def allocated(host: Any, code: int, where: tuple | None) -> None:
    """Note that the storage under a fresh host tensor is device memory from now on."""
    live = recorder
    if live is None:
        return
    storage = host.untyped_storage()
    note = live.note_block
    block = Block(storage, note)
    block.nbytes = storage.nbytes()
    block.device = code
    block.where = where
    note(block)
    if len(live.blocks) >= BLOCKS:
        live.fold_blocks()
