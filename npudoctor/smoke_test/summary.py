"""Turn the results of a run into a report: device line, table of stages, findings, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npudoctor import tables
from npudoctor.core.blocks import Block, Phrase, Table, cell_text
from npudoctor.core.finding import Finding
from npudoctor.core.report import Report
from npudoctor.core.text import Text, verbatim
from npudoctor.smoke_test import engine
from npudoctor.smoke_test.stage import Context, Device, Result, Status

SCHEMA = "npudoctor.smoke-test/1"

_ON_NPU = Text(
    "Device: {label}. The figures below were measured on it.", "设备：{label}。以下数据均在其上实测。"
)
_ON_CPU = Text(
    "Device: {label}{why}. This run validates the code path, not NPU hardware.",
    "设备：{label}{why}。本次运行只验证代码路径，不验证 NPU 硬件。",
)
_ON_SIM = Text(
    "Device: {label}{why}. Everything below is simulated: it validates the code path, not NPU hardware.",
    "设备：{label}{why}。以下结果均为模拟：只验证代码路径，不验证 NPU 硬件。",
)
_NONE_FOUND = Text(" (no NPU found)", "（未找到 NPU）")
_ON_NOTHING = Text(
    "Device: none. The run stopped before a device was opened; it proves nothing about NPU hardware.",
    "设备：无。运行在打开设备之前就已停止，不能说明 NPU 硬件的任何情况。",
)
_STAGES = Text("Stages", "阶段")
_COLUMNS = (
    Text("stage", "阶段"),
    Text("name", "名称"),
    Text("result", "结果"),
    Text("seconds", "秒"),
    Text("evidence", "依据"),
)
_WORDS = {
    Status.PASS: Text("pass", "通过"),
    Status.FAIL: Text("FAIL", "失败"),
    Status.SKIP: Text("skip", "跳过"),
}
_ALL_PASSED = Text(
    "smoke test passed: {passed} stages, {skipped} skipped, {seconds:.1f} s",
    "冒烟测试通过：{passed} 个阶段通过，{skipped} 个跳过，用时 {seconds:.1f} 秒",
)
_STOPPED = Text(
    "smoke test failed at stage {number} ({stage}) after {seconds:.1f} s",
    "冒烟测试在第 {number} 阶段（{stage}）失败，用时 {seconds:.1f} 秒",
)
_PROFILE = verbatim("npudoctor profile train.py")


def report(results: Sequence[Result], context: Context) -> Report:
    """The report of one run, in the order in which a reader needs it."""
    stopped = engine.failure(results)
    seconds = sum(r.seconds for r in results)
    params: dict[str, Any] = {
        "seconds": seconds,
        "passed": sum(r.outcome.status is Status.PASS for r in results),
        "skipped": sum(r.outcome.status is Status.SKIP for r in results),
    }
    if stopped is not None:
        params.update(number=results.index(stopped) + 1, stage=stopped.stage.title)
    findings: list[Finding] = []
    blocks: list[Block] = [_table(results)]
    for result in results:
        findings.extend(result.outcome.findings)
        blocks.extend(result.outcome.blocks)
    return Report(
        command="smoke-test",
        verdict=_ALL_PASSED if stopped is None else _STOPPED,
        params=params,
        findings=tuple(findings),
        tables=_tables_used(results),
        next_step=_PROFILE if stopped is None else verbatim(engine.next_command(stopped, context)),
        extra=_extra(results, context, seconds),
        blocks=tuple(blocks),
        banner=banner(context.device, context.plan.device),
    )


def banner(device: Device | None, asked: str) -> Phrase:
    """Which device was used, and what a run on it can prove."""
    if device is None:
        return Phrase(_ON_NOTHING)
    text = {"npu": _ON_NPU, "cpu": _ON_CPU, "sim": _ON_SIM}[device.kind]
    why = Phrase(_NONE_FOUND) if asked == "auto" else ""
    return Phrase(text, {"label": device.label, "why": why})


def _table(results: Sequence[Result]) -> Table:
    rows = tuple(
        (
            str(number),
            result.stage.title,
            _WORDS[result.outcome.status],
            f"{result.seconds:.2f}",
            result.outcome.summary,
        )
        for number, result in enumerate(results, start=1)
    )
    marks = tuple(result.outcome.status.value for result in results)
    return Table(_STAGES, _COLUMNS, rows, right=(0, 3), marks=marks)


def _tables_used(results: Sequence[Result]) -> dict[str, str]:
    ran = any(r.stage.code == "NPU303" and r.outcome.status is not Status.SKIP for r in results)
    return {"ppo_ops": tables.load("ppo_ops").date} if ran else {}


def _extra(results: Sequence[Result], context: Context, seconds: float) -> dict[str, Any]:
    device = context.device
    return {
        "schema": SCHEMA,
        "device": None
        if device is None
        else {"kind": device.kind, "label": cell_text(device.label, "en"), "chosen_by": device.chosen_by},
        "validates_hardware": device is not None and device.kind == "npu",
        "seconds": round(seconds, 3),
        "stages": [
            {
                "code": r.stage.code,
                "slug": r.stage.slug,
                "status": r.outcome.status.value,
                "seconds": round(r.seconds, 3),
                "summary": r.outcome.summary.render("en"),
                "evidence": [{"place": e.place, "value": e.value} for e in r.outcome.evidence],
                "facts": plain(r.outcome.facts),
            }
            for r in results
        ],
    }


def plain(value: Any) -> Any:
    """Data that strict JSON can hold: NaN and infinities become their names."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
