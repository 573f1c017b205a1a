"""A child process with the simulated NPU that runs programs before and after: `Device` talks to it.

The simulation registers itself with torch for good, so it must not live in the process of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Device:
    """The child; `run` gives what a program returns, prints or raises, and how often the host waited."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.migrate.sync.device"]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)

    def run(self, source: str, *args: Any) -> tuple[str, int]:
        """Outcome as text, equal only if every bit is, and the number of waits (simulated)."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([source, args]) + "\n")
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline())
        return answer[0], answer[1]

    def close(self) -> None:
        """End the child."""
        self._child.communicate(timeout=60)


def _serve() -> None:
    from npudoctor import simulate
    from npudoctor.simulate.summary import summarise
    from tests.migrate.sync.equal import outcome

    for line in sys.stdin:
        source, args = json.loads(line)
        with simulate.device() as recorder:
            result, _ = outcome(source, *args)
        waits = sum(at["syncs"] for at in summarise(recorder)["lines"])
        sys.stdout.write(json.dumps([repr(result), waits]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
