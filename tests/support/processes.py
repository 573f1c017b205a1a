"""Questions about processes that a test has lost hold of."""

from __future__ import annotations

import time
from pathlib import Path


def ended(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process is gone, or dead and only waiting for its new parent to take notice."""
    for _ in range(int(within_s / 0.1)):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False
