"""The way from a CUDA project to a fast NPU run: its steps, how far one is, and the next command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npudoctor.core.text import Text
from npudoctor.state import Last


@dataclass(frozen=True)
class Step:
    """One command of the journey, the question it answers, and how to call it."""

    command: str
    question: Text
    call: str


STEPS = (
    Step("check", Text("Can it run here at all?", "这台机器到底能不能跑？"), "npudoctor check"),
    Step(
        "migrate",
        Text("What has to change in my code?", "我的代码需要改什么？"),
        "npudoctor migrate --diff path/to/repo",
    ),
    Step(
        "simulate",
        Text("Does the migrated code run, and where does it wait?", "迁移后的代码能跑吗？在哪里等待？"),
        "npudoctor simulate train.py",
    ),
    Step(
        "smoke-test",
        Text("Does a whole PPO run end to end?", "完整的 PPO 能端到端跑通吗？"),
        "npudoctor smoke-test",
    ),
    Step("profile", Text("It runs: why is it slow?", "能跑了，为什么慢？"), "npudoctor profile train.py"),
    Step(
        "export",
        Text("How does the policy reach production?", "策略如何部署上线？"),
        "npudoctor export checkpoint.pt -o policy.onnx",
    ),
)


def next_step(known: Mapping[str, Last]) -> Step:
    """The first step that was not taken; when all were, the first that did not end well, else the last.

    A step that found something does not hold up the others: `check` on a laptop finds no NPU, and
    the code can be migrated there all the same.
    """
    missing = (step for step in STEPS if step.command not in known)
    bad = (step for step in STEPS if step.command in known and not ended_well(known[step.command]))
    return next(missing, None) or next(bad, STEPS[-1])


def ended_well(last: Last) -> bool:
    """Whether the last run of a command had nothing to report."""
    return bool(last.report.get("en", {}).get("exit_code") == 0)
