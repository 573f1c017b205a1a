"""Did a migration change anything but the device and the syncs?

The original runs on the CPU (twice, to learn which of its numbers are its own noise: clocks,
speeds, unseeded draws) and the migrated program on the simulated NPU. Printed numbers, logged
scalars and final weights have to agree. A fourth run, of the code migrated to the device alone, gives
the syncs before they are taken out. Each run has a fresh copy of its folder, so that none finds the
checkpoints of another.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npudoctor.core.children import output_of
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.simulate.compare import Difference, compare_lines, compare_scalars, compare_weights

_NOT_PYTHON = Text(
    "--verify takes a Python command such as `python train.py --steps 500`, not `{command}`",
    "--verify 需要形如 `python train.py --steps 500` 的 Python 命令，而不是 `{command}`",
)
# Speeds, times and memory are the machine's, not the program's.
_SPEED_WORDS = re.compile(
    r"(?i)(?<![a-z])(sps|fps|time(?!_?steps?)|sec|seconds|elapsed|speed|eta|it/s|steps/s|memory|[kmg]i?b)"
    r"(?![a-z])"
)
NOT_RUN = -1  # a status: there was no reason to run it
TOO_LONG = 124  # a status: stopped at the time limit


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
        before: the code migrated to the device alone, or the original with `cuda` meaning the simulated
            NPU; its `error` says why where there are no counts.
        differences: what disagrees beyond the original's own noise, most important first.
        noisy: values that differ between two runs of the original, not compared.
        compared: how many values were compared, by kind.
    """

    original: Run
    migrated: Run
    before: Run
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


def verify(
    command: str, original: Path, migrated: Path, *, device_only: Path | None = None, timeout: float = 1800
) -> Verification:
    """Run `command` in copies of the folders and compare.

    Args:
        command: as the user would type it in the project's folder, e.g. `python train.py --steps 500`.
        original: folder with the code as it was.
        migrated: folder with the migrated code (same layout).
        device_only: folder with the code migrated without the sync rules; without it the original runs
            with `cuda` meaning the simulated NPU.
        timeout: seconds for each run.

    Raises:
        UserError: the command is not a Python command.
    """
    target = _target(command)
    first = on_cpu(target, original, timeout)
    if first.status:
        return Verification(first, _not_run("npu"), _not_run("npu"))
    after = fresh("npu", target, migrated, timeout)
    if after.status:
        return Verification(first, after, _not_run("npu"))
    again = fresh(first.mode, target, original, timeout)
    mode, folder = ("cuda-as-npu", original) if device_only is None else ("npu", device_only)
    before = fresh(mode, target, folder, timeout)
    return compared(first, again, after, before)


def compared(first: Run, again: Run, after: Run, before: Run) -> Verification:
    """The numbers of `after` against those that the original repeats: `first` and `again`."""
    lines = compare_lines(first.lines, again.lines, after.lines, _SPEED_WORDS)
    scalars = compare_scalars(first.scalars, again.scalars, after.scalars)
    weights = compare_weights(first.weights, again.weights, after.weights)
    return Verification(
        first, after, before,
        differences=(*weights.differences, *scalars.differences, *lines.differences),
        noisy=lines.noisy + scalars.noisy + weights.noisy,
        compared={"printed": lines.compared, "logged": scalars.compared, "weights": weights.compared},
    )


def _not_run(mode: str) -> Run:
    return Run(mode, NOT_RUN, "not run", (), (), {}, None)


def on_cpu(target: Sequence[str], folder: Path, timeout: float) -> Run:
    """The original as it is; code that insists on CUDA gets the CPU under that name."""
    first = fresh("plain", target, folder, timeout)
    return first if first.status in (0, TOO_LONG) else fresh("cpu", target, folder, timeout)


def _target(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:  # a quote without its end
        raise UserError(_NOT_PYTHON, params={"command": command}) from None
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


def fresh(mode: str, target: Sequence[str], folder: Path, timeout: float) -> Run:
    """`run` in a copy of `folder`, whose name is left out of what the program prints."""
    with tempfile.TemporaryDirectory(prefix="npudoctor-verify-") as scratch:
        copy = Path(scratch) / "project"
        shutil.copytree(folder, copy, symlinks=True)
        return run(mode, target, copy, timeout)


def run(mode: str, target: Sequence[str], folder: Path, timeout: float) -> Run:
    """One child process; see `harness` for the modes."""
    with tempfile.TemporaryDirectory(prefix="npudoctor-verify-") as kept:
        command = [sys.executable, "-m", "npudoctor.simulate.harness", mode, kept, *target]
        status, out, err = _child(command, folder, timeout)
        result = _result(Path(kept))
        status = status or result.get("status", 1)
        return Run(
            mode, status, (result.get("error") or _last_line(err)) if status else "",
            tuple(out.replace(str(folder), ".").splitlines()),
            tuple(tuple(s) for s in result.get("scalars", ())),
            _weights(Path(kept)), result.get("simulation"), err,
        )


def _child(command: Sequence[str], folder: Path, timeout: float) -> tuple[int, str, str]:
    """Exit status and output of the program; TOO_LONG where it did not end in time."""
    try:
        return output_of(command, timeout, folder=folder, environ=_environment())
    except subprocess.TimeoutExpired:
        return TOO_LONG, "", f"no end after {timeout:.0f} s"


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
