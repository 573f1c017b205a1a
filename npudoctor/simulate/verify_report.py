"""A verification in words: findings with codes, and the sentence on syncs before and after."""

from __future__ import annotations

from typing import Any

from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.simulate.verify import Run, Verification

_DIFFERS = Text(
    "the migrated program's numbers differ from the original's: {n} of {total} compared values",
    "迁移后的程序与原程序的数值不一致：比较的 {total} 个值中有 {n} 个不同",
)
_DIFFERS_CAUSE = Text(
    "the original ran on the CPU and the migrated code on the simulated NPU, which computes with the same "
    "CPU kernels; so a difference comes from the code",
    "原程序在 CPU 上运行，迁移后的代码在模拟 NPU 上运行，二者使用相同的 CPU 算子，因此差异来自代码本身",
)
_DIFFERS_FIX = Text(
    "look at the first difference; undo the rewrite that it comes from, or seed what is random",
    "查看第一处差异；撤销引起差异的改写，或为随机部分设定种子",
)
_FAILED = Text("{which} did not run to its end: {error}", "{which}未能运行到结束：{error}")
_FAILED_CAUSE = Text("without both runs nothing can be compared", "两次运行缺一不可，否则无法比较")
_FAILED_FIX = Text("mend the error and verify again", "修正该错误后重新验证")
_NOTHING = Text("there was nothing to compare", "没有可比较的内容")
_NOTHING_CAUSE = Text(
    "the program printed and logged no number that it repeats, and made no optimizer",
    "程序没有输出或记录可重复的数值，也没有创建优化器",
)
_NOTHING_FIX = Text("let the program print a result, and seed it", "让程序输出结果，并设定随机种子")
_ORIGINAL = Text("the original (on the CPU)", "原程序（CPU）")
_MIGRATED = Text("the migrated program (on the simulated NPU)", "迁移后的程序（模拟 NPU）")
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


def findings(verification: Verification, lang: str = "en") -> tuple[Finding, ...]:
    """What keeps the verification from passing; empty when the numbers are the same."""
    found = [
        _failure(run, which.render(lang))
        for run, which in ((verification.original, _ORIGINAL), (verification.migrated, _MIGRATED))
        if run.status
    ]
    if found:
        return tuple(found)
    if verification.differences:
        return (_difference(verification),)
    if not verification.conclusive:
        return (Finding("NPU405", "verify-nothing-to-compare", Severity.WARNING, _NOTHING, _NOTHING_CAUSE,
                        fixes=(Fix(_NOTHING_FIX),)),)
    return ()


def _failure(run: Run, which: str) -> Finding:
    tail = tuple(Evidence("stderr", line) for line in run.stderr.splitlines()[-3:] if line.strip())
    return Finding("NPU404", "verify-run-failed", Severity.ERROR, _FAILED, _FAILED_CAUSE,
                   params={"which": which, "error": run.error or f"exit status {run.status}"},
                   evidence=tail, fixes=(Fix(_FAILED_FIX),))


def _difference(verification: Verification) -> Finding:
    evidence = tuple(
        Evidence(f"{d.kind}: {d.name}", f"{d.original} -> {d.migrated}") for d in verification.differences[:5]
    )
    total = max(sum(verification.compared.values()), len(verification.differences))
    return Finding("NPU403", "verify-numbers-differ", Severity.ERROR, _DIFFERS, _DIFFERS_CAUSE,
                   params={"n": len(verification.differences), "total": total},
                   evidence=evidence, fixes=(Fix(_DIFFERS_FIX),))


def sentences(verification: Verification, lang: str = "en") -> list[str]:
    """One line on the numbers (when they agree), one or two on the syncs."""
    found = []
    if verification.same:
        found.append(_SAME.render(lang, {**verification.compared, "noisy": verification.noisy}))
    totals = [_totals(verification.before), _totals(verification.migrated)]
    if totals[1]:
        pair = [str(t.get("syncs", "?")) for t in totals]
        found.append(_SYNCS.render(lang, {"before": pair[0], "after": pair[1]}))
        if totals[1].get("env_steps"):
            per = [str(t.get("syncs_per_env_step", "?")) for t in totals]
            found.append(_PER_STEP.render(lang, {"before": per[0], "after": per[1]}))
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
        "after": _totals(verification.migrated),
    }


def _totals(run: Run | None) -> dict[str, Any]:
    return run.simulation["totals"] if run is not None and run.simulation else {}
