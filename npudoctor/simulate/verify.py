"""Did a migration change anything but the device and the syncs?

The original runs on the CPU (twice, to learn which of its numbers are its own noise: clocks,
speeds, unseeded draws) and the migrated program on the simulated NPU. Printed numbers, logged
scalars and final weights have to agree. A fourth run, of the original with `cuda` meaning the
simulated NPU, gives the syncs before the migration.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.simulate.compare import Difference, compare_lines, compare_scalars, compare_weights

_NOT_PYTHON = Text(
    "--verify takes a Python command such as `python train.py --steps 500`, not `{command}`",
    "--verify 需要形如 `python train.py --steps 500` 的 Python 命令，而不是 `{command}`",
)
_SPEED_WORDS = re.compile(r"(?i)\b(sps|fps|time|sec|seconds|elapsed|speed|eta|it/s|steps/s)\b")


@dataclass(frozen=True)
class Run:
    """One run of one program: how it ended, what it printed and logged, where its weights lie."""

    mode: str
    status: int
    error: str
    lines: tuple[str, ...]
    scalars: tuple[tuple[str, str, Any], ...]
    weights: dict[str, Any]
    simulation: dict[str, Any] | None
    stderr: str = ""


@dataclass(frozen=True)
class Verification:
    """What the runs say together.

    Attributes:
        original: the original on the CPU; migrated: the migrated program on the simulated NPU.
        before: the original with `cuda` meaning the simulated NPU, or None if that run failed.
        differences: what disagrees beyond the original's own noise, most important first.
        noisy: values that differ between two runs of the original, not compared.
        compared: how many values were compared, by kind.
    """

    original: Run
    migrated: Run
    before: Run | None
    differences: tuple[Difference, ...] = ()
    noisy: int = 0
    compared: dict[str, int] = field(default_factory=dict)

    @property
    def conclusive(self) -> bool:
        """Both programs ran to their end and something was compared."""
        return self.original.status == 0 and self.migrated.status == 0 and sum(self.compared.values()) > 0

    @property
    def same(self) -> bool:
        """Conclusive, and nothing differs."""
        return self.conclusive and not self.differences


def verify(command: str, original: Path, migrated: Path, *, timeout: float = 1800) -> Verification:
    """Run `command` in both folders and compare.

    Args:
        command: as the user would type it in the project's folder, e.g. `python train.py --steps 500`.
        original: folder with the code as it was.
        migrated: folder with the migrated code (same layout).
        timeout: seconds for each run.

    Raises:
        UserError: the command is not a Python command.
    """
    target = _target(command)
    first = _original(target, original, timeout)
    again = run(first.mode, target, original, timeout) if first.status == 0 else first
    after = run("npu", target, migrated, timeout)
    before: Run | None = run("cuda-as-npu", target, original, timeout)
    if before is not None and before.status:
        before = None
    if first.status or after.status:
        return Verification(first, after, before)
    lines = compare_lines(first.lines, again.lines, after.lines, _SPEED_WORDS)
    scalars = compare_scalars(first.scalars, again.scalars, after.scalars)
    weights = compare_weights(first.weights, again.weights, after.weights)
    return Verification(
        first, after, before,
        differences=(*weights.differences, *scalars.differences, *lines.differences),
        noisy=lines.noisy + scalars.noisy + weights.noisy,
        compared={"printed": lines.compared, "logged": scalars.compared, "weights": weights.compared},
    )


def _original(target: Sequence[str], folder: Path, timeout: float) -> Run:
    """On the CPU as it is; code that insists on CUDA gets the CPU under that name."""
    first = run("plain", target, folder, timeout)
    return first if first.status == 0 else run("cpu", target, folder, timeout)


def _target(command: str) -> list[str]:
    words = shlex.split(command)
    while words and "=" in words[0] and not words[0].startswith("-"):
        words = words[1:]  # NAME=value in front of the command
    if len(words) < 2 or not re.fullmatch(r"(.*/)?python[\d.]*(\.exe)?", words[0]):
        raise UserError(_NOT_PYTHON, params={"command": command})
    words = words[1:]
    while words and words[0] in ("-u", "-B", "-O"):
        words = words[1:]
    if not words or (words[0].startswith("-") and words[0] != "-m") or words == ["-m"]:
        raise UserError(_NOT_PYTHON, params={"command": command})
    return words


def run(mode: str, target: Sequence[str], folder: Path, timeout: float) -> Run:
    """One child process; see `harness` for the modes."""
    with tempfile.TemporaryDirectory(prefix="npudoctor-verify-") as kept:
        command = [sys.executable, "-m", "npudoctor.simulate.harness", mode, kept, *target]
        try:
            done = subprocess.run(
                command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=timeout,
                encoding="utf-8", errors="replace", check=False,
            )
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, out, err = 124, "", f"no end after {timeout:.0f} s"
        result = _result(Path(kept))
        status = status or result.get("status", 1)
        return Run(
            mode, status, (result.get("error") or _last_line(err)) if status else "",
            tuple(out.splitlines()), tuple(tuple(s) for s in result.get("scalars", ())),
            _weights(Path(kept)), result.get("simulation"), err,
        )


def _environment() -> dict[str, str]:
    """The caller's environment; this npudoctor importable; one thread, so that sums keep their order."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def _result(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError):
        return {}


def _weights(folder: Path) -> dict[str, Any]:
    if not (folder / "weights.npz").is_file():
        return {}
    import numpy as np

    with np.load(folder / "weights.npz") as stored:
        return {name: stored[name] for name in stored.files}


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
