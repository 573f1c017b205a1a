"""What became of a process that should have ended."""

from __future__ import annotations

import time
from pathlib import Path


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process ends in time; one that is dead and not yet reaped counts as ended."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
