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
    """The first step that was not taken or did not end well; the last one when all did."""
    for step in STEPS:
        last = known.get(step.command)
        if last is None or last.report.get("en", {}).get("exit_code") != 0:
            return step
    return STEPS[-1]
