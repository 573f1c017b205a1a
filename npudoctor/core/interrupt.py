"""Ctrl-C that waits for a moment in which nothing can be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupt_waits() -> Iterator[None]:
    """Ctrl-C in the block takes effect when the block ends.

    For the start of a child process: an interrupt after its start and before its name is known would leave it
    running for ever. Put the block inside of the `try` whose `finally` ends the child.
    """
    if threading.current_thread() is not threading.main_thread():  # others never see the signal
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
    if came:
        signal.raise_signal(signal.SIGINT)
