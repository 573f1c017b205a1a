"""A verification in words: findings with codes, and the sentence on syncs before and after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.exits import Exit
from npudoctor.core.report import Fact, Report
from npudoctor.core.text import Text
from npudoctor.simulate.findings import of_verification
from npudoctor.simulate.verify import Run, Verification

_SAME = Text(
    "same numbers, bit for bit: {printed} printed, {logged} logged, {weights} weight tensors; "
    "{noisy} values that the original does not repeat itself were left out",
    "数值逐位一致：输出 {printed} 个、日志 {logged} 个、权重张量 {weights} 个；"
    "原程序自身不可重复的 {noisy} 个值未参与比较",
)
_SYNCS = Text(
    "host-device syncs (simulated): {before} before, {after} after",
    "主机与设备同步（模拟）：改写前 {before}，改写后 {after}",
)
_PER_STEP = Text(
    "per environment step: {before} before, {after} after", "每个环境步：改写前 {before}，改写后 {after}"
)

_NO_BEFORE = Text(
    "the syncs before are unknown: that run failed: {error}", "改写前的同步次数未知：该次运行失败：{error}"
)
_LABEL = Text("verify", "验证")


def added(report: Report, verification: Verification) -> Report:
    """`report` of a migration with the verification: its sentences as facts, its findings first."""
    facts = tuple(Fact("verify", _LABEL, sentence) for sentence in sentences(verification))
    return replace(
        report,
        facts=(*report.facts, *facts),
        findings=(*of_verification(verification), *report.findings),
        extra={**report.extra, "verify": as_dict(verification)},
        decided=report.decided if verification.same else Exit.FINDINGS,
    )


def sentences(verification: Verification) -> list[Phrase]:
    """One line on the numbers (when they agree), one or two on the syncs."""
    found = []
    if verification.same:
        found.append(Phrase(_SAME, {**verification.compared, "noisy": verification.noisy}))
    totals = [_totals(verification.before), _totals(verification.migrated)]
    if totals[1]:
        pair = [str(t.get("syncs", "?")) for t in totals]
        found.append(Phrase(_SYNCS, {"before": pair[0], "after": pair[1]}))
        if totals[1].get("env_steps"):
            per = [str(t.get("syncs_per_env_step", "?")) for t in totals]
            found.append(Phrase(_PER_STEP, {"before": per[0], "after": per[1]}))
        if verification.before.status > 0:
            found.append(Phrase(_NO_BEFORE, {"error": verification.before.error}))
    return found


def as_dict(verification: Verification) -> dict[str, Any]:
    """For `--json`: the verdict, what was compared, the first differences, the counts before and after."""
    return {
        "simulated": True,
        "same": verification.same,
        "compared": dict(verification.compared),
        "noisy": verification.noisy,
        "differences": [vars(d) for d in verification.differences[:50]],
        "before": _totals(verification.before),
        "before_failed": verification.before.error if verification.before.status > 0 else None,
        "after": _totals(verification.migrated),
    }


def _totals(run: Run) -> dict[str, Any]:
    return run.simulation["totals"] if run.simulation and not run.status else {}
