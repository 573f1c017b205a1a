"""Standard input that may be closed, and standard output at the level of the file descriptor."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text

_CLOSED = Text("standard input is closed", "标准输入已关闭")


def standard_input() -> TextIO:
    """Standard input.

    Raises:
        UserError: it is closed (`<&-`, some service managers).
    """
    if sys.stdin is None:
        raise UserError(_CLOSED)
    return sys.stdin


@contextmanager
def stdout_aside(wanted: bool = True) -> Iterator[None]:
    """Send all that this process prints to standard error: standard output then holds the result alone.

    What a library's own C code prints comes along, as CANN's logs do.
    """
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
