"""Exit codes, as documented in README.md and docs/cli.md."""

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
