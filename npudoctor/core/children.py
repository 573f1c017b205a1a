"""Child processes in a session of their own, and their end: whatever they do, nothing of ours outlives us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npudoctor.core.interrupt import interrupt_waits

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


def output_of(
    words: Sequence[str],
    timeout_s: float,
    *,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a program that is given no input.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it did not end in time. It is ended then, with all that it started.
    """
    child: subprocess.Popen[str] | None = None
    try:
        with interrupt_waits():
            child = subprocess.Popen(
                words, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", start_new_session=True,
            )
        out, err = child.communicate(timeout=timeout_s)
        return child.returncode, out, err
    finally:
        if child is not None:
            end_session(child)
            close_pipes(child)


def close_pipes(child: subprocess.Popen[Any]) -> None:
    """Close this end of the child's pipes, for a caller that no longer reads them."""
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
