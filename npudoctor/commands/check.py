"""`npudoctor check`: is this environment fit for the NPU; if not, what is wrong, why, and the exact fix."""

from __future__ import annotations

import sys

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_HELP = Text(
    "Diagnose driver, firmware, CANN, Python, torch and torch_npu on this machine.\n\n"
    "Nothing is changed. torch is only imported in child processes with a time limit.",
    "诊断本机的驱动、固件、CANN、Python、torch 与 torch_npu。\n\n"
    "不做任何修改；torch 只在有时间限制的子进程中导入。",
)


@click.command("check", cls=Command, help_text=_HELP)
@option(
    "--python",
    default=sys.executable,
    metavar="PATH",
    help=Text("The Python interpreter to diagnose.", "要诊断的 Python 解释器。"),
)
@option(
    "--no-probes",
    is_flag=True,
    help=Text("Do not import torch and do not compute (fast).", "不导入 torch、不做计算（更快）。"),
)
@option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    metavar="SECONDS",
    help=Text("Limit for each child process.", "每个子进程的时间上限（秒）。"),
)
@option("--strict", is_flag=True, help=Text("Warnings set exit code 1 too.", "警告也以退出码 1 退出。"))
@option(
    "--ignore",
    multiple=True,
    metavar="CODE",
    help=Text("Leave this finding out (repeatable).", "忽略该代码的发现（可重复）。"),
)
@shared_options(formats=("text", "json"))
def COMMAND(
    session: Session,
    python: str,
    no_probes: bool,
    timeout: float,
    strict: bool,
    ignore: tuple[str, ...],
) -> Exit:
    """Collect facts, judge them, print the report."""
    from npudoctor.check.lookups import package_names
    from npudoctor.check.run import report
    from npudoctor.machine.collect import collect
    from npudoctor.machine.live import LiveHost
    from npudoctor.machine.probe import Settings
    from npudoctor.pairing.table import load
    from npudoctor.report import emit

    packages = package_names()
    settings = Settings(python=python, run_probes=not no_probes, timeout_s=timeout, packages=packages)
    machine = collect(LiveHost(), settings)
    result = report(machine, load(), ignore=frozenset(ignore), lang=session.lang)
    emit(session, result)
    return result.exit_code(strict)
