"""`npudoctor simulate`: run a script on a simulated NPU and count what makes the host wait."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_HELP = Text(
    "Run a script on a SIMULATED NPU and report host-device syncs by source line.\n\n"
    "Results are the CPU's, bit for bit; times are estimates. Options of npudoctor go before the script.",
    "在模拟 NPU 上运行脚本，并按源码行报告主机与设备同步。\n\n"
    "计算结果与 CPU 逐位一致；时间均为估算。npudoctor 的选项须写在脚本之前。",
)
_VERDICT = Text(
    "simulated NPU: {syncs} host-device syncs in {kernels} kernels; worst line {worst}",
    "模拟 NPU：{kernels} 次算子下发中有 {syncs} 次主机与设备同步；最多的一行：{worst}",
)
_CLEAN = Text(
    "simulated NPU: no host-device sync in {kernels} kernels",
    "模拟 NPU：{kernels} 次算子下发，无主机与设备同步",
)
_FAILED = Text("the program failed on the simulated NPU", "程序在模拟 NPU 上运行失败")
_NOTHING = Text("give a script, or -m and a module name", "请给出脚本，或 -m 加模块名")


@click.command("simulate", cls=Command, help_text=_HELP,
               context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@option("-m", "module", metavar="MODULE",
        help=Text("Run a module as `python -m` does.", "像 `python -m` 一样运行模块。"))
@option("--devices", type=click.IntRange(1, 64), default=1,
        help=Text("Number of simulated NPUs.", "模拟 NPU 的数量。"))
@option("--top", type=click.IntRange(1), default=20,
        help=Text("Lines shown in the table.", "表格显示的行数。"))
@click.argument("target", nargs=-1, type=click.UNPROCESSED)
@shared_options(formats=("text", "json"))
def COMMAND(
    session: Session, module: str | None, devices: int, top: int, target: tuple[str, ...]
) -> Exit:
    """Run, summarise, report."""
    from npudoctor.simulate import backend, findings, runner, summary
    from npudoctor.simulate.options import Options

    if module is None and not target:
        raise UserError(_NOTHING)
    program, arguments = (module, target) if module is not None else (target[0], target[1:])
    recorder = backend.activate(Options(device_count=devices))
    try:
        with _stdout_aside(session.format == "json" and session.output is None):
            outcome = runner.run(program, arguments, module=module is not None)
    finally:
        backend.deactivate()
    from npudoctor.report.keep import keep

    numbers = summary.summarise(recorder)
    report = _report(numbers, findings.findings(numbers, outcome), outcome)
    _emit(session, report, numbers, top)
    keep(report)
    return report.exit_code()


def _report(numbers: dict[str, Any], found: tuple[Any, ...], outcome: Any) -> Any:
    from npudoctor.core.report import Report

    lines = numbers["lines"]
    totals = numbers["totals"]
    verdict = _VERDICT if totals["syncs"] else _CLEAN
    return Report(
        command="simulate",
        verdict=_FAILED if outcome.status else verdict,
        params={"syncs": totals["syncs"], "kernels": totals["kernels"],
                "worst": f"{lines[0]['path']}:{lines[0]['line']}" if lines else "-"},
        findings=found,
        extra={"program_status": outcome.status, "simulation": numbers},
    )


def _emit(session: Session, report: Any, numbers: dict[str, Any], top: int) -> None:
    from npudoctor.report import emit, emit_text
    from npudoctor.simulate import text

    if session.format == "json":
        emit(session, report)
        return
    if session.quiet and session.output is None:
        return
    if session.output is None:
        text.render(numbers, session.console(), session.lang, top)
        emit(session, report)
        return
    import io

    from npudoctor.report.terminal import render

    buffer = io.StringIO()
    console = session.console(buffer)
    text.render(numbers, console, session.lang, top)
    render(report, console, session)
    emit_text(session, buffer.getvalue())


@contextmanager
def _stdout_aside(wanted: bool) -> Iterator[None]:
    """Send what the program prints to standard error, so that standard output holds JSON alone."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
