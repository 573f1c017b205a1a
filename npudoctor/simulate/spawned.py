"""Processes that a simulated program starts with multiprocessing's `spawn` simulate as well.

Such a child imports everything afresh, so it has to activate before it looks at the program. Its
counts stay with it; only how many were started is noted. A forked child cannot use the device once
its parent has, as on the real one (see `devices.resolve`).
"""

from __future__ import annotations

import json
import multiprocessing.spawn
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from npudoctor.simulate.options import Options

_ROOT = str(Path(__file__).resolve().parents[2])


def install(stack: ExitStack, options: Options) -> None:
    """Until `stack` closes, a spawned child activates with the same options first."""
    original = multiprocessing.spawn.get_command_line
    chosen = json.dumps(asdict(options))

    def get_command_line(**kw: Any) -> list[str]:
        from npudoctor.simulate import live

        command = original(**kw)
        if "-c" in command:
            place = command.index("-c") + 1
            start = (f"import sys; sys.path.append({_ROOT!r}); "
                     f"from npudoctor.simulate.spawned import start; start({chosen!r}); ")
            command[place] = start + command[place]
            if live.recorder is not None:
                live.recorder.notes["spawned process"] += 1
        return command

    multiprocessing.spawn.get_command_line = get_command_line
    stack.callback(setattr, multiprocessing.spawn, "get_command_line", original)


def start(chosen: str) -> None:
    """In the child: simulate until it ends."""
    from npudoctor.simulate import backend

    backend.activate(Options(**json.loads(chosen)))
    if sys.path[-1] == _ROOT:
        sys.path.pop()
