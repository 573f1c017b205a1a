"""Child processes in a session of their own, and their end: whatever they do, nothing of ours outlives us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Any

GRACE_S = 3.0


def end_session(child: subprocess.Popen[Any], *, polite: bool = False, grace_s: float = GRACE_S) -> None:
    """End a child that was started with `start_new_session`, and everything it started.

    A process that is stuck in a driver (state D) takes no signal: it is left behind and not waited for.

    Args:
        polite: SIGTERM comes first, and SIGKILL for what is left after `grace_s`.
        grace_s: seconds to wait for the child after each signal.
    """
    for number in (signal.SIGTERM, signal.SIGKILL) if polite else (signal.SIGKILL,):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace_s)
            if number is signal.SIGTERM:
                time.sleep(0.05)  # what the child started may still be ending by itself


def close_pipes(child: subprocess.Popen[Any]) -> None:
    """Close this end of the child's pipes, for a caller that no longer reads them."""
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
