"""Run someone's script or module as `python script.py` would, and come back whatever it does."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.simulate.sites import is_library

_NO_FILE = Text("no such script: {path}", "找不到脚本：{path}")
_NO_MODULE = Text("no module named {name}", "找不到模块 {name}")


@dataclass(frozen=True)
class Outcome:
    """How the program ended: exit status, and the exception's last line if it raised one."""

    status: int
    error: str = ""
    where: str = ""


def run(target: str, arguments: Sequence[str], *, module: bool) -> Outcome:
    """Run `target` with `arguments` as the program `__main__`.

    Raises:
        UserError: there is no such script or module.
    """
    find(target, module=module)
    first = os.getcwd() if module else str(Path(target).resolve().parent)
    with _as_program(target, arguments, first):
        try:
            if module:
                runpy.run_module(target, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(target, run_name="__main__")
        except SystemExit as leaving:
            return _status(leaving)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _report(error)
    return Outcome(0)


def find(target: str, *, module: bool) -> None:
    """Make sure that there is something to run.

    Raises:
        UserError: there is no such script or module.
    """
    if not module:
        if not Path(target).is_file():
            raise UserError(_NO_FILE, params={"path": target})
        return
    import importlib.util

    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(target.partition(".")[0])
    except (ImportError, ValueError):
        found = None
    finally:
        sys.path.pop(0)
    if found is None:
        raise UserError(_NO_MODULE, params={"name": target})


@contextmanager
def _as_program(target: str, arguments: Sequence[str], first: str) -> Iterator[None]:
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = [target, *arguments]
    sys.path.insert(0, first)
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path
        sys.modules["__main__"] = main


def _status(leaving: SystemExit) -> Outcome:
    if leaving.code is None or isinstance(leaving.code, int):
        return Outcome(leaving.code or 0)
    print(leaving.code, file=sys.stderr)
    return Outcome(1, str(leaving.code))


def _report(error: BaseException) -> Outcome:
    """Print the program's own traceback, without the frames that started it."""
    if isinstance(error, UserError):
        raise error
    trace = _beyond_runpy(error.__traceback__)
    traceback.print_exception(type(error), error, trace)
    summary = traceback.extract_tb(trace)
    own = [frame for frame in summary if not is_library(frame.filename)] or list(summary)
    where = f"{own[-1].filename}:{own[-1].lineno}" if own else ""
    if isinstance(error, SyntaxError) and error.filename and not is_library(error.filename):
        where = f"{error.filename}:{error.lineno}"  # it was never run, so no frame is its own
    return Outcome(1, f"{type(error).__name__}: {error}".splitlines()[0], where)


def _beyond_runpy(trace: TracebackType | None) -> TracebackType | None:
    current = trace
    while current is not None:
        name = current.tb_frame.f_code.co_filename
        if "runpy" not in name and name != __file__:
            return current
        current = current.tb_next
    return None
