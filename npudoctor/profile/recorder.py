"""Runs inside the profiled process: `python recorder.py OPTIONS script.py args`.

Needs nothing but PyTorch: the interpreter of the script may have no npudoctor.

Records a warm window of the script with torch.profiler (torch_npu.profiler when an NPU is
there). A timer signal starts and stops the window, so that the script needs no change and
the main thread itself, at a safe point between two bytecodes, talks to the profiler.
Each call that makes the host wait is marked with the user's own source line.
"""

from __future__ import annotations

import argparse
import functools
import os
import runpy
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

SYNC_METHODS = (
    "item",
    "tolist",
    "cpu",
    "numpy",
    "__bool__",
    "__float__",
    "__int__",
    "__index__",
    "nonzero",
    "__array__",
)


_host: dict[str, Any] = {}  # the last tensor that `.cpu()` gave out
RETRY_S = 0.002
TRIES = 1000


class Recorded(BaseException):
    """Ends the script once the window is written; no `except Exception` of the script catches it."""


class Window:
    """The part of the run that is recorded.

    Args:
        torch: the imported torch module of the process.
        path: where the Chrome trace goes, a file also with torch_npu.
        warmup_s, duration_s: seconds before, and of, the window.
        keep_running: let the script go on after the window; else it is ended there.
    """

    def __init__(self, torch: Any, path: str, warmup_s: float, duration_s: float, keep_running: bool) -> None:
        self._keep_running = keep_running
        self._torch, self._path = torch, path
        self._warmup_s, self._duration_s = warmup_s, duration_s
        self._profiler: Any = None
        self._tries_left = TRIES
        self.finished = False

    def arm(self) -> None:
        """Start now (no warm-up) or when the timer fires."""
        if self._warmup_s <= 0:
            self.start()
            return
        signal.signal(signal.SIGALRM, self._start_in_user_code)
        signal.setitimer(signal.ITIMER_REAL, self._warmup_s)

    def _start_in_user_code(self, _signal: int, frame: FrameType | None) -> None:
        # A frame that is open when recording starts never gets its end: it would cover the
        # whole window. So wait for a moment when only the user's own functions are open.
        if self._tries_left and _inside_library(frame):
            self._tries_left -= 1
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
            return
        self.start()

    def start(self) -> None:
        """Begin recording; the next signal ends it."""
        profiler = _make_profiler(self._torch)
        profiler.__enter__()
        self._profiler = profiler
        self._tries_left = TRIES
        signal.signal(signal.SIGALRM, self._stop_in_user_code)
        signal.setitimer(signal.ITIMER_REAL, self._duration_s)

    def _stop_in_user_code(self, _signal: int, frame: FrameType | None) -> None:
        # For the same reason: what is open now would swallow the time that writing takes.
        if self._tries_left and _inside_library(frame):
            self._tries_left -= 1
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
            return
        self._stop_script()

    def stop(self) -> None:
        """End recording and write the trace. A second call does nothing."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self._profiler is None or self.finished:
            return
        self.finished = True
        self._profiler.__exit__(None, None, None)
        self._profiler.export_chrome_trace(self._path)

    def _stop_script(self) -> None:
        self.stop()
        if not self._keep_running:
            raise Recorded


def _inside_library(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != __file__:  # below, it is this program's own call
        if "site-packages" in frame.f_code.co_filename or "dist-packages" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _make_profiler(torch: Any) -> Any:
    npu = getattr(torch, "npu", None)
    if npu is not None and "torch_npu" in sys.modules and hasattr(sys.modules["torch_npu"], "profiler"):
        profiler = sys.modules["torch_npu"].profiler
        if hasattr(profiler, "ProfilerActivity") and npu.is_available():
            activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU]
            return profiler.profile(activities=activities, with_stack=True)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(activities=activities, with_stack=True)


def mark_syncs(torch: Any, root: str) -> None:
    """Wrap the reading methods of Tensor so that each leaves `npudoctor.sync CALL FILE:LINE` in the trace."""
    own = os.path.dirname(os.path.abspath(torch.__file__))
    for name in SYNC_METHODS:
        original = getattr(torch.Tensor, name, None)
        if original is not None:
            setattr(torch.Tensor, name, _marked(torch, name, original, own, root))


def _marked(torch: Any, name: str, original: Callable[..., Any], own: str, root: str) -> Callable[..., Any]:
    optimiser = os.path.join(own, "optim") + os.sep

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # `.numpy()` inside torch's own `__array__` and the like is one wait, not two.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith((own, "<")):
            if frame.f_code.co_filename.startswith(optimiser):
                return original(self, *args, **kwargs)  # optimisers keep their step count on the host
            frame = frame.f_back
        if frame is None or self is _host.get("last"):
            return original(self, *args, **kwargs)  # `.cpu().numpy()` waits once, in `.cpu()`
        path = frame.f_code.co_filename
        line = f"{os.path.relpath(path, root) if path.startswith(root + os.sep) else path}:{frame.f_lineno}"
        with torch.profiler.record_function(f"npudoctor.sync {name.strip('_')} {line}"):
            result = original(self, *args, **kwargs)
        if name == "cpu":
            _host["last"] = result
        return result

    return method


def main(argv: list[str] | None = None) -> int:
    """Record and return the script's own exit code."""
    parser = argparse.ArgumentParser(prog="recorder.py")
    parser.add_argument("--trace", required=True)
    parser.add_argument("--warmup", type=float, required=True)
    parser.add_argument("--duration", type=float, required=True)
    parser.add_argument("--module", action="store_true")
    parser.add_argument("--keep-running", action="store_true")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    if sys.path[:1] == [os.path.dirname(os.path.abspath(__file__))]:
        del sys.path[0]  # the modules beside this file are not for the script

    import torch

    mark_syncs(torch, os.getcwd())
    window = Window(torch, options.trace, options.warmup, options.duration, options.keep_running)
    sys.argv = [options.script, *options.args]
    code = 0
    window.arm()
    try:
        if options.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
            runpy.run_path(options.script, run_name="__main__")
    except Recorded:
        pass
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        if not isinstance(stop.code, (int, type(None))):
            print(stop.code, file=sys.stderr)  # as Python does
    finally:
        window.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
