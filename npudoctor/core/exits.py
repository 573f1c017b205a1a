"""Exit codes, as README.md documents them."""

from __future__ import annotations

import enum


@enum.unique
class Exit(enum.IntEnum):
    """What the process tells its caller."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INTERNAL = 3
    INTERRUPTED = 130
