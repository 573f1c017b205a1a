"""Shared helpers: run the command line as a user would, in a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"

# A shell starts background jobs with SIGINT ignored, and children inherit that: then no test of
# Ctrl-C could work.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

RunCli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_cli() -> RunCli:
    """`run_cli("check", "--json", cwd=..., env={...}, stdin=...)` -> CompletedProcess (text)."""

    def run(
        *args: object,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = 120,
        python: str = sys.executable,
    ) -> subprocess.CompletedProcess[str]:
        full = {
            **os.environ,
            "LANG": "C.UTF-8",
            "LC_ALL": "",
            "COLUMNS": "120",
            "NPUDOCTOR_NO_STATE": "1",
            **(env or {}),
        }
        full["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), full.get("PYTHONPATH", "")]))
        return subprocess.run(
            [python, "-m", "npudoctor", *map(str, args)],
            cwd=cwd,
            env=full,
            input=stdin,
            timeout=timeout,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )

    return run
