"""Environment processes that cannot outlive the training process, and leave without a word when it goes."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from typing import Any

from gymnasium.vector.async_vector_env import AsyncState, AsyncVectorEnv, _async_worker

PR_SET_PDEATHSIG = 1  # linux/prctl.h
ERROR_QUEUE = 5  # its place among the arguments of gymnasium's worker


class WorkerVectorEnv(AsyncVectorEnv):
    """Environments in processes of their own that also close when a step was cut short, as by Ctrl-C."""

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """End the workers.

        An answer of the step may be half read or read already: gymnasium would wait for it for ever.
        """
        if self._state is AsyncState.DEFAULT:
            super().close_extras(timeout, terminate)
            return
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()
        for pipe in self.parent_pipes:
            pipe.close()


def worker(*arguments: Any) -> None:
    """What gymnasium's own worker does (`WorkerVectorEnv(worker=...)`), bound to the parent process."""
    bind_to_parent()
    try:
        _async_worker(*arguments)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        # The parent has closed the pipe in the middle of a step, as on Ctrl-C: nobody is left to tell.
        arguments[ERROR_QUEUE].cancel_join_thread()


def bind_to_parent() -> None:
    """When the parent dies, so does this process; Ctrl-C, which reaches the whole group, is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if sys.platform == "linux" and parent is not None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it died before the line above
            os._exit(1)
