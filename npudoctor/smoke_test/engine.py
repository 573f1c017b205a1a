"""Run the stages in order, stop at the first failure, and name its likely cause."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Finding, Severity
from npudoctor.core.registry import collect
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Result, Stage, Status, failed, skipped

_NOT_REACHED = Text("not run: an earlier stage failed", "未运行：前面的阶段失败")
_CRASHED = Text("the stage itself broke: {error}", "阶段自身出错：{error}")
_CRASH_CAUSE = Text(
    "npudoctor could not carry out or read this stage. This is a fault of npudoctor, not proof of one in "
    "the environment",
    "npudoctor 未能执行或解读该阶段。这是 npudoctor 自身的缺陷，并不证明环境有问题",
)


def all_stages() -> list[Stage]:
    """Every stage, in the order in which they run."""
    from npudoctor.smoke_test import stages

    found = collect(stages, "STAGE")
    return [found[code] for code in sorted(found)]


def run_stages(
    stages: Sequence[Stage], context: Context, on_result: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Run `stages`; those behind a failure are skipped with that reason."""
    results: list[Result] = []
    broken = False
    for stage in stages:
        started = time.monotonic()
        if broken:
            outcome = skipped(_NOT_REACHED)
        else:
            reason = stage.wanted(context)
            outcome = Outcome(Status.SKIP, reason) if reason is not None else _run(stage, context)
        result = Result(stage, outcome, time.monotonic() - started)
        if outcome.status is Status.FAIL:
            broken = True
            result = replace(result, outcome=_explain(result, context))
        results.append(result)
        on_result(result)
    return results


def failure(results: Sequence[Result]) -> Result | None:
    """The stage at which the run stopped."""
    return next((r for r in results if r.outcome.status is Status.FAIL), None)


def next_command(result: Result, context: Context) -> str:
    """The command to run after `result` failed."""
    return result.stage.next_command.format(log=log_path(result, context), python=context.plan.python)


def log_path(result: Result, context: Context) -> Path:
    """Where the log of a failed stage is kept."""
    return context.folder / f"{result.stage.code}.log"


def _run(stage: Stage, context: Context) -> Outcome:
    try:
        return stage.run(context)
    except Exception as error:  # one broken stage must not hide what the others found
        finding = Finding(
            code=stage.code,
            slug="stage-broke",
            severity=Severity.ERROR,
            title=_CRASHED,
            cause=_CRASH_CAUSE,
            params={"error": f"{type(error).__name__}: {error}"},
        )
        return failed(Phrase(_CRASHED, finding.params), finding)


def _explain(result: Result, context: Context) -> Outcome:
    """Keep the log in a file and put the likely cause read from it under the stage's own finding."""
    outcome = result.outcome
    if not outcome.log:
        return outcome
    log_path(result, context).write_text("\n".join(outcome.log) + "\n", encoding="utf-8")
    likely = causes.from_log(outcome.log, str(log_path(result, context)))
    if likely is None or outcome.findings[0].code != result.stage.code:
        return outcome  # nothing known, or the stage itself has already named a deeper cause
    first, *rest = outcome.findings
    # The cause in the log is the root; that the stage failed follows from it.
    return replace(outcome, findings=(replace(likely, consequences=(*likely.consequences, first)), *rest))
