"""What a stage is, what it is given, and what it answers."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npudoctor.core.blocks import Block, Cell, Phrase
from npudoctor.core.finding import Evidence, Finding
from npudoctor.core.text import Text
from npudoctor.smoke_test import child
from npudoctor.smoke_test.child import ChildRun, Event
from npudoctor.smoke_test.worker import Worker

PACKAGE = Path(__file__).resolve().parent.parent
PPO = PACKAGE.parent / "reference_ppo"
CHILDREN = "npudoctor.smoke_test.children"


@enum.unique
class Status(enum.Enum):
    """How a stage ended."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True)
class Plan:
    """What was asked for on the command line.

    Attributes:
        device: `auto`, `npu`, `cpu` or `sim`.
        python: the interpreter under test.
        quick: smaller budgets, under 20 seconds in all.
        seed: of every random draw.
        nproc, nnodes, node_rank, rdzv_endpoint: handed to torchrun as they are.
        export: also run the export stage.
        slower: factor on every timeout, for machines busy with other work.
    """

    device: str = "auto"
    python: str = "python3"
    quick: bool = False
    seed: int = 1
    nproc: int = 0
    nnodes: int = 1
    node_rank: int = 0
    rdzv_endpoint: str = ""
    export: bool = False
    slower: float = 1.0


@dataclass(frozen=True)
class Device:
    """The device in use: `kind` is `npu`, `cpu` or `sim`; `label` names it for people."""

    kind: str
    label: Cell
    chosen_by: str = "user"


@dataclass
class Context:
    """What the stages share while one smoke test runs.

    Attributes:
        device: set by the environment stage; None until then.
        notes: values that a later stage needs from an earlier one (losses, checkpoint path).
        folder: scratch folder of this run.
        on_event: called with each event of each child, for progress.
        workers: children that stay, by the variables they were started with (--quick).
    """

    plan: Plan
    folder: Path
    device: Device | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    on_event: Callable[[Event], None] | None = None
    workers: dict[tuple[tuple[str, str], ...], Worker] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`npu`, `cpu` or `sim`."""
        assert self.device is not None, "the environment stage runs first"
        return self.device.kind

    def run(
        self, module: str, *args: str, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ChildRun:
        """Run one program of `children/` under the interpreter under test."""
        env, limit = self.environ(env), timeout_s * self.plan.slower
        if self.plan.quick:
            return self._worker(env).run(module, args, limit)
        return child.run(self.command(module, *args), limit, env, self.on_event)

    def command(self, module: str, *args: str) -> list[str]:
        """The command line that starts a program of `children/` under the interpreter under test."""
        packages = {"npudoctor": PACKAGE, "reference_ppo": PPO}
        return child.program(self.plan.python, packages, f"{CHILDREN}.{module}", *args)

    def close(self) -> None:
        """End the children that stay."""
        for worker in self.workers.values():
            worker.close()

    def _worker(self, env: dict[str, str]) -> Worker:
        # One child per set of variables: torch_npu reads some of them only once.
        key = tuple(sorted(env.items()))
        if key not in self.workers:
            self.workers[key] = Worker(self.command("worker"), env, self.on_event)
        return self.workers[key]

    def environ(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Variables set for every child.

        One OpenMP thread: at these sizes more threads are slower, and collapse when the
        other core is busy. Off the NPU, torch does not load torch_npu, so that a broken
        one cannot stop a run that was asked not to use it.
        """
        env = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        settled = self.device is not None and self.notes.get("has_torch_npu")
        wanted = self.kind if settled else self.plan.device
        if wanted in ("cpu", "sim"):
            env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        return {**env, **(extra or {})}


@dataclass(frozen=True)
class Outcome:
    """What a stage found.

    Attributes:
        summary: one phrase for the table: what was measured, or why it was skipped.
        evidence: places and values that support it.
        findings: what to tell the user; a FAIL carries at least one ERROR.
        facts: numbers for the JSON form.
        blocks: tables and bars.
        log: the child's log lines, from which the likely cause is read.
    """

    status: Status
    summary: Phrase
    evidence: tuple[Evidence, ...] = ()
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """One step of the smoke test.

    Attributes:
        code: `NPU3xx`; the order of codes is the order of stages, and a failure bears it.
        wanted: why this stage does not run under a plan, or None when it does.
        next_command: what to run when it fails; `{log}` and `{python}` are filled in.
    """

    code: str
    slug: str
    title: Text
    run: Callable[[Context], Outcome]
    wanted: Callable[[Context], Phrase | None] = lambda context: None
    next_command: str = "npudoctor explain {log}"


@dataclass(frozen=True)
class Result:
    """A stage and how it went."""

    stage: Stage
    outcome: Outcome
    seconds: float


def passed(summary: Text, params: Mapping[str, object] | None = None, **more: Any) -> Outcome:
    """A PASS with its summary."""
    return Outcome(Status.PASS, Phrase(summary, params or {}), **more)


def skipped(reason: Text, params: Mapping[str, object] | None = None) -> Outcome:
    """A SKIP with its reason."""
    return Outcome(Status.SKIP, Phrase(reason, params or {}))


def failed(summary: Phrase, finding: Finding, run: ChildRun | None = None, **more: Any) -> Outcome:
    """A FAIL with the finding that explains it."""
    log = run.log if run is not None else ()
    return Outcome(Status.FAIL, summary, findings=(finding, *more.pop("findings", ())), log=log, **more)
