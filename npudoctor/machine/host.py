"""The port between npudoctor and a computer: every file, folder and command goes through it.

A `Host` answers with `Observation`s: what was found, or why it could not be had. The
live form (live.py) touches the machine, the recording form keeps what it was told, the
replaying form (replay.py) answers from a bundle and never falls through to the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

NOT_RECORDED = "not-recorded"
TIMEOUT = "timeout"
ABSENT_ERRORS = frozenset({"ENOENT", "ENOTDIR"})
DENIED_ERRORS = frozenset({"EACCES", "EPERM"})
KINDS = ("read", "list", "stat", "open", "run", "env", "identity")


@dataclass(frozen=True)
class Observation:
    """One answer of a host.

    Attributes:
        kind: one of `KINDS`.
        target: path, label of the command, or the kind itself.
        data: what was found, as JSON-able data; None when there is an error.
        error: symbolic errno (`ENOENT`, `EACCES`, ...), `timeout`, or `not-recorded`; empty when found.
    """

    kind: str
    target: str
    data: Any = None
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return not self.error


@dataclass(frozen=True)
class Command:
    """A command to run: `label` names it in bundles, whatever the path of the program."""

    label: str
    argv: tuple[str, ...]
    timeout_s: float = 15.0
    environ: tuple[tuple[str, str], ...] = ()


class Host(Protocol):
    """Everything a probe may ask of a computer; no method raises for a missing or refused thing."""

    def read(self, path: str) -> Observation:
        """Text of a file (at most 1 MiB)."""

    def list(self, path: str) -> Observation:
        """Sorted names in a folder."""

    def stat(self, path: str) -> Observation:
        """`{kind, mode, uid, gid, owner, group, real}`; `kind` is file, dir, char or other."""

    def open_rw(self, paths: Sequence[str]) -> Mapping[str, Observation]:
        """For each device node whether opening it for reading and writing works (data `ok`)."""

    def run(self, command: Command) -> Observation:
        """`{exit, stdout, stderr, seconds}`; `exit` is negative for a signal, as in subprocess."""

    def environ(self) -> Observation:
        """The environment variables that matter."""

    def identity(self) -> Observation:
        """`{machine, release, uid, gid, groups, group_names, cap_eff}` of this process."""


class RecordingHost:
    """Passes every question on to another host and keeps the answers."""

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self.observations: dict[tuple[str, str], Observation] = {}

    def _keep(self, observation: Observation) -> Observation:
        self.observations[observation.kind, observation.target] = observation
        return observation

    def read(self, path: str) -> Observation:
        return self._keep(self._inner.read(path))

    def list(self, path: str) -> Observation:
        return self._keep(self._inner.list(path))

    def stat(self, path: str) -> Observation:
        return self._keep(self._inner.stat(path))

    def open_rw(self, paths: Sequence[str]) -> Mapping[str, Observation]:
        answers = self._inner.open_rw(paths)
        for answer in answers.values():
            self._keep(answer)
        return answers

    def run(self, command: Command) -> Observation:
        return self._keep(self._inner.run(command))

    def environ(self) -> Observation:
        return self._keep(self._inner.environ())

    def identity(self) -> Observation:
        return self._keep(self._inner.identity())
