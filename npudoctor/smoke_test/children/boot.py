"""Start one child program: `python boot.py name=dir [name=dir ...] -- module [args...]`.

Each `name=dir` makes one package importable without touching sys.path: the folder that
holds it may be the site-packages of another Python, whose torch must not leak in here.

Standard output is kept for the program's own JSON lines. CANN and other C libraries write
logs to file descriptor 1, so that descriptor is pointed at standard error, and only
Python's `sys.stdout` still reaches the reader.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib.util
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def mount(name: str, directory: str) -> None:
    """Import package `name` from `directory`, whatever sys.path says."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(directory, "__init__.py"), submodule_search_locations=[directory]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {name} from {directory}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def claim_stdout() -> None:
    """Give Python's stdout a private copy of descriptor 1 and send descriptor 1 to stderr."""
    private = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(private, "w", encoding="utf-8", errors="backslashreplace", buffering=1)


def die_with_parent() -> None:
    """Ask Linux to end this process when the one that started it ends, even by SIGKILL."""
    with contextlib.suppress(OSError, AttributeError):  # another system: the parent's own clean-up has to do
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main(argv: list[str]) -> None:
    """Mount the packages and run the module as `__main__`."""
    cut = argv.index("--")
    # The folder of this script is on sys.path; a module of it must not shadow an import.
    sys.path = [
        p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))
    ]
    faulthandler.enable()
    die_with_parent()
    limit = float(os.environ.get("NPUDOCTOR_CHILD_LIMIT_S", "0"))
    if limit > 2:
        # Say where it hangs, on stderr, shortly before the parent ends it.
        faulthandler.dump_traceback_later(limit - 1.0)
    claim_stdout()
    for word in argv[:cut]:
        mount(*word.split("=", 1))
    sys.argv = argv[cut + 1 :]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
