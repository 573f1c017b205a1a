"""Environment processes that cannot outlive the training process."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from functools import partial
from typing import Any, Callable

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def bound_to_parent(make: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap an environment factory for use in a worker process: when the parent dies, so does the worker."""
    return partial(_bound, os.getpid(), make)


def _bound(parent: int, make: Callable[[], Any]) -> Any:
    # gymnasium also calls the factory once in the parent, to read the spaces.
    if os.getpid() != parent:
        # Ctrl-C reaches the whole process group; the parent alone decides when workers stop.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died before the line above
                os._exit(1)
    return make()
