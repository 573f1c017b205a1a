"""Which bound decides, with the numbers, and advice in the order in which it pays."""

from __future__ import annotations

import dataclasses

from npudoctor import tables
from npudoctor.core.finding import Evidence, Finding, Place, Severity
from npudoctor.core.registry import collect
from npudoctor.core.report import Report
from npudoctor.core.text import Text, verbatim
from npudoctor.profile import bounds, words
from npudoctor.profile.analyse import Analysis
from npudoctor.profile.api import Bound, Split
from npudoctor.profile.as_data import as_data
from npudoctor.profile.facts import measured, milliseconds, summed_up
from npudoctor.profile.folder import Statistics

WORTH_SAYING = 0.10

_VERDICT = Text("{verdict}: {share} of {window}", "{verdict}：占 {window} 的 {share}")
_FORECAST = Text(
    "{verdict} (forecast for an NPU from a trace of the host alone; no device was measured): {share}",
    "{verdict}（根据仅含主机的 trace 对 NPU 的预估，未测量任何设备）：{share}",
)
_SIMULATED = Text(
    "{verdict} (simulated NPU; no hardware was measured): {share} of {window}",
    "{verdict}（模拟 NPU，未测量任何硬件）：占 {window} 的 {share}",
)
_NEXT = Text(
    "change one thing, record again with --save-trace, then npudoctor profile --compare BEFORE AFTER",
    "每次只改一处，用 --save-trace 重新记录，然后运行 npudoctor profile --compare BEFORE AFTER",
)


def split_of(analysis: Analysis) -> Split:
    """The window by cause; a forecast where only the host was recorded."""
    if analysis.has_device:
        idle = analysis.idle_by_cause
        compute = max(analysis.busy_us - analysis.copy_us, 0.0)
        return Split(
            compute, idle["env"], idle["transfer"] + analysis.copy_us, idle["sync"], idle["launch"], False
        )
    cost = costs()
    kernels = analysis.launches
    launch = kernels * cost["launch"]
    return Split(
        analysis.work_us,
        analysis.env_typical_us,
        analysis.copies * cost["copy"],
        analysis.sync_count * cost["sync"],
        launch,
        True,
    )


def costs() -> dict[str, float]:
    """Latencies in microseconds of one launch, sync and small copy (data/device_costs.tsv)."""
    return {row["cost"]: float(row["microseconds"]) for row in tables.load("device_costs").rows}


def all_bounds() -> list[Bound]:
    """Every bound, in the order of advice."""
    found: dict[str, Bound] = collect(bounds, "BOUND", "npu5")
    return sorted(found.values(), key=lambda b: b.order)


def judge(analysis: Analysis, summed: Statistics | None = None) -> Report:
    """The report of one trace: the deciding bound first, then the rest in the order of advice.

    `summed` is what torch_npu's profiler summed up itself, where its folder was read.
    """
    summed = summed or Statistics()
    split = split_of(analysis)
    units = all_bounds()
    winner = max(units, key=lambda b: split.share(b.part))
    rest = [
        b for b in units if b is not winner and split.share(b.part) >= WORTH_SAYING and b.part != "compute"
    ]
    findings = [_finding(b, analysis, split, b is winner) for b in [winner, *rest]]
    if analysis.aicpu:
        findings.append(_aicpu(analysis))
    verdict = _FORECAST if split.forecast else _SIMULATED if analysis.form == "simulated" else _VERDICT
    return Report(
        command="profile",
        verdict=verdict,
        params={
            "verdict": name_of(winner),
            "share": f"{split.share(winner.part):.0%}",
            "window": milliseconds(analysis.window_us),
        },
        findings=tuple(findings),
        facts=measured(analysis) + summed_up(summed),
        tables={name: tables.load(name).date for name in ("profile_events", "device_costs")},
        next_step=_NEXT,
        extra={
            "verdict": winner.slug,
            "split_us": dataclasses.asdict(split),
            "analysis": as_data(analysis),
            "profiler": summed.as_data(),
        },
    )


def name_of(bound: Bound) -> Text:
    """`env-bound`; in Chinese what its title calls it, with that name beside it."""
    return verbatim(bound.slug, f"{bound.title.zh.partition('：')[0]}（{bound.slug}）")


def speedup(share: float) -> float:
    """Amdahl: how many times faster at most when this share of the time is gone."""
    return 1.0 / max(1.0 - share, 1e-3)


def _finding(bound: Bound, analysis: Analysis, split: Split, decides: bool) -> Finding:
    share = split.share(bound.part)
    gone = 1.0 - share if bound.part == "compute" else share
    places = _places(bound.part, analysis)
    return Finding(
        code=bound.code,
        slug=bound.slug,
        severity=Severity.NOTE if bound.part == "compute" or not decides else Severity.WARNING,
        title=bound.title,
        cause=bound.cause,
        place=_place(places[0]) if places else None,
        params={"share": f"{share:.0%}", "bound": f"{speedup(gone):.1f}x", "count": bound.count(analysis)},
        evidence=tuple(Evidence(line or call, text) for line, call, text in places),
        fixes=bound.fixes,
        sources=bound.sources,
    )


def _places(part: str, analysis: Analysis) -> list[tuple[str, str, str]]:
    """`(file:line, call, numbers)` of the top places behind a cause."""
    found = [
        (
            gap.where.line,
            gap.where.call,
            f"{gap.where.call}: {gap.count} x, {milliseconds(gap.total_us)}, max {gap.longest_us:.0f} us",
        )
        for gap in analysis.gaps
        if gap.cause == part
    ]
    if part == "sync" and not found:
        found = [
            (s.where.line, s.where.call, f"{s.where.call}: {s.count} x, {milliseconds(s.total_us)}")
            for s in analysis.syncs
        ]
    if part == "compute":
        found = [
            ("", o.name, f"{o.name}: {o.count} x, {milliseconds(o.total_us)}") for o in analysis.by_time[:3]
        ]
    return found[:5]


def _place(entry: tuple[str, str, str]) -> Place | None:
    line = entry[0]
    path, _, number = line.rpartition(":")
    return Place(path, int(number)) if path and number.isdecimal() else None


def _aicpu(analysis: Analysis) -> Finding:
    return Finding(
        code="NPU506",
        slug=words.SAID["NPU506"].slug,
        severity=Severity.WARNING,
        title=words.AICPU,
        cause=words.AICPU_CAUSE,
        params={
            "count": sum(o.count for o in analysis.aicpu),
            "names": ", ".join(o.name for o in analysis.aicpu[:5]),
        },
        evidence=tuple(
            Evidence(o.name, f"{o.count} x, {milliseconds(o.total_us)}") for o in analysis.aicpu[:5]
        ),
        sources=words.SAID["NPU506"].sources,
    )
