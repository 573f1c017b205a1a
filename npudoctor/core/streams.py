"""Standard output at the level of the file descriptor: what a library's own C code prints goes elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stdout_aside(wanted: bool = True) -> Iterator[None]:
    """Send all that this process prints to standard error: standard output then holds the result alone."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
