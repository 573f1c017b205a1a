"""Apply the rules: what a run, or a verification, has to say beyond its counts."""

from __future__ import annotations

from typing import Any

from npudoctor.core.finding import Finding
from npudoctor.core.registry import collect
from npudoctor.simulate import rules


def findings(summary: dict[str, Any], outcome: Any) -> tuple[Finding, ...]:
    """Findings of one run, by code: the program's own failure first."""
    return _apply("run", summary, outcome)


def of_verification(verification: Any) -> tuple[Finding, ...]:
    """What keeps a verification from passing; empty when the numbers are the same."""
    return _apply("verify", verification)


def _apply(subject: str, *given: Any) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for _, rule in sorted(collect(rules, "RULE", "npu").items()):
        if rule.subject == subject:
            found.extend(rule.run(*given))
    return tuple(found)
