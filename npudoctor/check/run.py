"""From facts to the report of `npudoctor check`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from npudoctor.check.engine import Diagnosis, diagnose
from npudoctor.check.summary import facts
from npudoctor.check.unexplained import explained
from npudoctor.core.errors import UserError
from npudoctor.core.finding import Finding, Severity
from npudoctor.core.report import Report
from npudoctor.core.text import Text, filled
from npudoctor.machine.collect import collect
from npudoctor.machine.facts import Machine
from npudoctor.machine.probe import Settings
from npudoctor.pairing.table import Tables

if TYPE_CHECKING:
    from npudoctor.machine.bundle import Bundle

_NO_NPU = "NPU001"
_FINE = Text("no problem found: this environment is ready for the NPU", "未发现问题：此环境可以使用 NPU")
_FINE_UNPROVED = Text(
    "no problem found, but {unchecked} checks could not be made: readiness is not proved",
    "未发现问题，但有 {unchecked} 项检查无法进行：尚不能证明可用",
)
_NOTES = Text("usable, with {warnings} warnings", "可以使用，有 {warnings} 条警告")
_HERE = Text(
    "no Ascend NPU here: nothing can run on an NPU on this machine",
    "此处没有昇腾（Ascend）NPU：本机无法运行 NPU 程序",
)
_BROKEN = Text("not ready: fix {code} first ({title})", "尚不可用：请先修复 {code}（{title}）")
_NOT_POSIX = Text(
    "an NPU machine runs Linux: there is nothing to look at here", "NPU 机器运行 Linux：本机没有可检查的内容"
)
_RECORD_THERE = Text(
    "record that machine with: npudoctor check --record FILE, and replay the file here",
    "在那台机器上用 npudoctor check --record FILE 录制，然后在这里回放",
)
_READY = Text(
    "npudoctor migrate --diff path/to/repo for your code, then npudoctor smoke-test",
    "对你的代码运行 npudoctor migrate --diff path/to/repo，然后运行 npudoctor smoke-test",
)
_WITHOUT_NPU = Text(
    "npudoctor migrate --diff path/to/repo and npudoctor simulate train.py need no NPU",
    "npudoctor migrate --diff path/to/repo 与 npudoctor simulate train.py 不需要 NPU",
)
_AGAIN = Text(
    "apply the first fix, then run npudoctor check again", "先执行第一条修复，然后重新运行 npudoctor check"
)


def report(
    machine: Machine,
    tables: Tables,
    *,
    ignore: frozenset[str] = frozenset(),
) -> Report:
    """Diagnose `machine`; the checks in `ignore` are not run, so what they would explain stands alone."""
    found = diagnose(machine, tables, ignore=ignore)
    findings = explained(found.findings, machine)
    verdict, params = _verdict(found, findings)
    errors = any(f.severity is Severity.ERROR for root in findings for f in root.walk())
    return Report(
        "check",
        verdict,
        params,
        findings,
        found.passed,
        found.not_checked,
        facts(machine),
        tables=dict(tables.dates),
        next_step=_next(findings, errors),
    )


def _next(findings: tuple[Finding, ...], errors: bool) -> Text:
    if findings and findings[0].code == _NO_NPU:
        return _WITHOUT_NPU
    return _AGAIN if errors else _READY


def _verdict(found: Diagnosis, findings: tuple[Finding, ...]) -> tuple[Text, dict[str, object]]:
    everything = [f for root in findings for f in root.walk()]
    warnings = sum(f.severity is Severity.WARNING for f in everything)
    params: dict[str, object] = {"warnings": warnings, "unchecked": len(found.not_checked)}
    if any(f.severity is Severity.ERROR for f in everything):
        first = findings[0]
        params |= {"code": first.code, "title": filled(first.title, first.params)}
        return (_HERE if first.code == _NO_NPU else _BROKEN), params
    if warnings:
        return _NOTES, params
    return (_FINE_UNPROVED if found.not_checked else _FINE), params


def observed(
    settings: Settings, record: Path | None = None, advance: Callable[[int], None] = lambda steps: None
) -> Machine:
    """The facts about the running machine; with `record`, its redacted observations go to that file.

    Raises:
        UserError: the record cannot be written, or this is no POSIX system.
    """
    if os.name != "posix":
        raise UserError(_NOT_POSIX, _RECORD_THERE)
    from npudoctor.machine.host import RecordingHost
    from npudoctor.machine.live import LiveHost

    host = RecordingHost(LiveHost())
    machine = collect(host, settings, advance)
    if record is not None:
        from npudoctor.machine import bundle, redact

        kept = bundle.Bundle(host.observations, settings.python, host=redact.host_label())
        bundle.save(record, kept, redact.of_this_machine())
    return machine


def replayed(path: Path) -> Machine:
    """The facts in a bundle file. Raises UserError when it is none."""
    from npudoctor.machine import bundle

    return facts_of(bundle.load(path))


def facts_of(kept: Bundle) -> Machine:
    """The facts in a bundle, parsed now."""
    return collect(kept.replay(), Settings(python=kept.python))
