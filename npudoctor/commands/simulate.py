"""`npudoctor simulate`: run a script on a simulated NPU and count what makes the host wait."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from npudoctor.commands.options import ProgramCommand, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.streams import stdout_aside
from npudoctor.core.text import Text, verbatim
from npudoctor.session import Session

_HELP = Text(
    "Run a script on a SIMULATED NPU and report host-device syncs by source line.\n\n"
    "Results are the CPU's, bit for bit; times are estimates. Options of npudoctor go before the script.\n\n"
    "Exit codes: 0 the program ended well, 1 it failed, 2 usage or environment error.",
    "在模拟 NPU 上运行脚本，并按源码行报告主机与设备同步。\n\n"
    "计算结果与 CPU 逐位一致；时间均为估算。npudoctor 的选项须写在脚本之前。\n\n"
    "退出码：0 程序正常结束，1 程序失败，2 用法或环境错误。",
)
_VERDICT = Text(
    "simulated NPU: {syncs} host-device syncs in {kernels} kernels; worst line {worst}",
    "模拟 NPU：{kernels} 次算子下发中有 {syncs} 次主机与设备同步；最多的一行：{worst}",
)
_SMOKE = verbatim("npudoctor smoke-test --device sim")
_AGAIN = Text("mend the program and run this command again", "修正程序后重新运行此命令")
_CLEAN = Text(
    "simulated NPU: no host-device sync in {kernels} kernels",
    "模拟 NPU：{kernels} 次算子下发，无主机与设备同步",
)
_FAILED = Text("the program failed on the simulated NPU", "程序在模拟 NPU 上运行失败")
_NOTHING = Text("give a script, or -m and a module name", "请给出脚本，或 -m 加模块名")
_FILE = click.Path(dir_okay=False, path_type=Path)


class Runner(ProgramCommand):
    """What follows `-m MODULE` belongs to the module, as with `python -m`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: self.program_at(args)]
        if "-m" in options:
            end = options.index("-m") + 2
            rest = args[end:]
            args = [*args[:end], *([] if rest[:1] == ["--"] else ["--"]), *rest]
        return super().parse_args(ctx, args)


@click.command("simulate", cls=Runner, help_text=_HELP, context_settings={"allow_interspersed_args": False})
@option("-m", "module", metavar="MODULE",
        help=Text("Run a module as `python -m` does.", "像 `python -m` 一样运行模块。"))
@option("--devices", type=click.IntRange(1, 64), default=1,
        help=Text("Number of simulated NPUs.", "模拟 NPU 的数量。"))
@option("--chip", default="Ascend910B3",
        help=Text("Chip whose name and limits apply (910, 910b, a3, 310p, 950, ...).",
                  "采用其名称与限制的芯片（910、910b、a3、310p、950 等）。"))
@option("--strict", is_flag=True,
        help=Text("Raise where the real device would refuse.", "真实设备会拒绝之处直接报错。"))
@option("--cuda-as-npu", is_flag=True,
        help=Text("Run code that still says cuda on the simulated NPU.",
                  "让仍写 cuda 的代码在模拟 NPU 上运行。"))
@option("--latency", type=_FILE, metavar="FILE",
        help=Text("Measured latencies (JSON, microseconds) for the estimate.",
                  "用于估算的实测时延（JSON，微秒）。"))
@option("--html", type=_FILE, metavar="FILE",
        help=Text("Write a page with the source coloured by syncs.", "写出按同步次数着色的源码页面。"))
@option("--trace", type=_FILE, metavar="FILE",
        help=Text("Write the estimated timeline as a Chrome trace.", "将估算的时间线写为 Chrome trace。"))
@option("--top", type=click.IntRange(1), default=20,
        help=Text("Lines shown in the table.", "表格显示的行数。"))
@click.argument("target", nargs=-1, type=click.UNPROCESSED)
@shared_options(formats=("text", "json"))
def COMMAND(
    session: Session, module: str | None, devices: int, chip: str, strict: bool, cuda_as_npu: bool,
    latency: Path | None, html: Path | None, trace: Path | None, top: int, target: tuple[str, ...],
) -> Exit:
    """Run, summarise, report."""
    from npudoctor.report.keep import keep
    from npudoctor.simulate import costs as cost_table
    from npudoctor.simulate import findings, summary
    from npudoctor.simulate.forecast import forecast
    from npudoctor.simulate.options import Options

    if module is None and not target:
        raise UserError(_NOTHING)
    costs = cost_table.default() if latency is None else cost_table.load(latency)
    options = Options(device_count=devices, chip=chip, strict=strict)
    aside = session.format == "json" and session.output is None
    recorder, outcome = _run(options, module, target, cuda_as_npu, aside)
    numbers = summary.summarise(recorder)
    numbers["forecast"] = forecast(recorder, costs)
    report = _report(numbers, findings.findings(numbers, outcome), outcome)
    _write_files(session, recorder, numbers, costs, html, trace)
    _emit(session, report, numbers, top)
    keep(report)
    return report.exit_code(strict)


def _run(
    options: Any, module: str | None, target: tuple[str, ...], cuda: bool, aside: bool
) -> tuple[Any, Any]:
    from npudoctor.simulate import backend, runner

    program, arguments = (module, target) if module is not None else (target[0], target[1:])
    runner.find(program, module=module is not None)
    with ExitStack() as stack:
        recorder = backend.activate(options)
        stack.callback(backend.deactivate)
        if cuda:
            from npudoctor.simulate import cuda_shim

            cuda_shim.apply(stack, "npu")
        stack.enter_context(stdout_aside(aside))
        outcome = runner.run(program, arguments, module=module is not None)
    return recorder, outcome


def _report(numbers: dict[str, Any], found: tuple[Any, ...], outcome: Any) -> Any:
    from npudoctor.core.report import Report

    totals, lines = numbers["totals"], numbers["lines"]
    verdict = _VERDICT if totals["syncs"] else _CLEAN
    return Report(
        command="simulate",
        verdict=_FAILED if outcome.status else verdict,
        params={"syncs": totals["syncs"], "kernels": totals["kernels"],
                "worst": f"{lines[0]['path']}:{lines[0]['line']}" if lines else "-"},
        findings=found,
        next_step=_AGAIN if outcome.status else _SMOKE,
        extra={"program_status": outcome.status, "simulation": numbers},
    )


def _write_files(
    session: Session, recorder: Any, numbers: dict[str, Any], costs: Any, html: Path | None,
    trace: Path | None,
) -> None:
    from dataclasses import replace

    from npudoctor.report import emit_text

    if html is not None:
        from npudoctor.simulate import html as page
        from npudoctor.simulate import text

        sentences = text.forecast(numbers["forecast"], session.lang)
        emit_text(replace(session, output=html), page.page(numbers, sentences, session.lang))
    if trace is not None:
        from npudoctor.simulate.trace import chrome_trace

        emit_text(replace(session, output=trace), chrome_trace(recorder, costs))


def _emit(session: Session, report: Any, numbers: dict[str, Any], top: int) -> None:
    from npudoctor.report import emit, emit_drawn

    if session.format == "json":
        emit(session, report)
        return
    from npudoctor.report.terminal import render
    from npudoctor.simulate import text

    def draw(console: Any) -> None:
        text.render(numbers, console, session.lang, top)
        for sentence in text.forecast(numbers["forecast"], session.lang):
            console.print(sentence)
        console.print()
        render(report, console, session)

    emit_drawn(session, draw)
