"""`npudoctor smoke-test`: train a small policy end to end and say where it stops."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_TITLE = Text("smoke test", "冒烟测试")


@click.command(
    "smoke-test",
    cls=Command,
    help_text=Text(
        "Prove end to end that this interpreter and device can train a policy.\n\n"
        "Stages run in order and stop at the first failure, with its likely cause and the next command. "
        "Nothing here runs in npudoctor's own process: each stage is a child of --python with a time limit.",
        "端到端验证该解释器与设备能否训练策略。\n\n"
        "各阶段依次运行，遇到第一个失败即停止，并给出可能原因与下一条命令。每个阶段都在 --python 的子进程中"
        "运行并有时限。",
    ),
)
@option(
    "--device",
    type=click.Choice(("auto", "npu", "cpu", "sim")),
    default="auto",
    show_default=True,
    help=Text("auto: the NPU, else the simulated NPU, else the CPU.", "auto：NPU，其次模拟 NPU，再次 CPU。"),
)
@option(
    "--python",
    default=sys.executable,
    metavar="PATH",
    help=Text(
        "Interpreter to test (default: the one that runs npudoctor).",
        "待测解释器（默认为运行 npudoctor 的解释器）。",
    ),
)
@option("--quick", is_flag=True, help=Text("Smaller budgets, under 20 seconds.", "更小的预算，20 秒以内。"))
@option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help=Text("Seed of every random draw.", "所有随机数的种子。"),
)
@option(
    "--nproc",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help=Text(
        "Also check collectives with N processes (torchrun).", "另用 N 个进程检查集合通信（torchrun）。"
    ),
)
@option("--nnodes", type=click.IntRange(1), default=1, help=Text("Handed to torchrun.", "传给 torchrun。"))
@option("--node-rank", type=click.IntRange(0), default=0, help=Text("Handed to torchrun.", "传给 torchrun。"))
@option(
    "--rdzv-endpoint", default="", metavar="HOST:PORT", help=Text("Handed to torchrun.", "传给 torchrun。")
)
@option(
    "--export",
    is_flag=True,
    help=Text("Also export the policy to ONNX and compare.", "另将策略导出为 ONNX 并比较。"),
)
@option(
    "--report",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help=Text("Also write one self-contained HTML page.", "另写出一个自包含的 HTML 页面。"),
)
@option(
    "--slower",
    type=click.FloatRange(min=0.1),
    default=1.0,
    metavar="FACTOR",
    help=Text("Multiply every time limit.", "将所有时限乘以该系数。"),
)
@shared_options()
def COMMAND(session: Session, page: Path | None, **asked: Any) -> Exit:
    """Run the stages and render the report."""
    from npudoctor import report as rendering
    from npudoctor.report import page as page_form
    from npudoctor.report.keep import keep
    from npudoctor.smoke_test.run import smoke_test
    from npudoctor.smoke_test.stage import Plan

    if page is not None:
        page_form.require_writer(page)
    with session.progress(_TITLE) as advance:
        report = smoke_test(Plan(**asked), lambda event: advance(1))
    rendering.emit(session, report)
    keep(report)
    if page is not None:
        page_form.write(session, report, page)
    return report.exit_code()
