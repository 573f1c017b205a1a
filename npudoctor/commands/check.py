"""`npudoctor check`: is this environment fit for the NPU; if not, what is wrong, why, and the exact fix."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

if TYPE_CHECKING:
    from npudoctor.machine.facts import Machine

T = TypeVar("T")

_HELP = Text(
    "Diagnose driver, firmware, CANN, Python, torch and torch_npu on this machine.\n\n"
    "Nothing is changed. torch is only imported in child processes with a time limit.",
    "诊断本机的驱动、固件、CANN、Python、torch 与 torch_npu。\n\n"
    "不做任何修改；torch 只在有时间限制的子进程中导入。",
)
_ONE_WAY = Text("--record and --replay exclude each other", "--record 与 --replay 不能同时使用")
_UNKNOWN_CODE = Text("there is no check {code}", "没有代码为 {code} 的检查")
_LOOKING = Text("looking at this machine", "正在检查本机")
_SURVEY = Text("machines", "机器")
_NO_BUNDLES = Text("there is no bundle (*.json) in {path}", "{path} 中没有录制文件（*.json）")
_MAKE = Text(
    "make one on each host with: npudoctor check --record FILE",
    "在每台主机上用 npudoctor check --record FILE 生成",
)
_CODES = Text("the codes are listed in docs/check.md", "代码列表见 docs/check.md")
_NO_FOLDER = Text(
    "cannot write the bundle {path}: its folder does not exist", "无法写入录制文件 {path}：目录不存在"
)
_WRITTEN = Text(
    "recorded to {path} (names, addresses, serial numbers and tokens taken out)",
    "已录制到 {path}（已去除名称、地址、序列号和令牌）",
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
    default=120.0,
    metavar="SECONDS",
    help=Text("Limit for each child process that runs Python.", "每个 Python 子进程的时间上限（秒）。"),
)
@option(
    "--smi-timeout",
    type=click.FloatRange(min=0.1),
    default=15.0,
    metavar="SECONDS",
    help=Text("Limit for each call of npu-smi.", "每次调用 npu-smi 的时间上限（秒）。"),
)
@option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=Text(
        "Also write what was seen, redacted, as a bundle (- for standard output).",
        "同时将（脱敏后的）观测写入录制文件（- 表示标准输出）。",
    ),
)
@option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=Text(
        "Diagnose a bundle (- for standard input), or every bundle in a folder (a fleet).",
        "诊断录制文件（- 表示标准输入），或目录下的所有录制文件（集群）。",
    ),
)
@option("--strict", is_flag=True, help=Text("Warnings set exit code 1 too.", "有警告时也以退出码 1 退出。"))
@option(
    "--ignore",
    multiple=True,
    metavar="CODE",
    help=Text("Do not run this check (repeatable).", "不运行该检查（可重复）。"),
)
@option(
    "--table",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=Text("Add or replace rows of the pairing table.", "补充或替换配套表中的行。"),
)
@shared_options(formats=("text", "json"))
def COMMAND(
    session: Session,
    python: str,
    no_probes: bool,
    timeout: float,
    smi_timeout: float,
    record: Path | None,
    replay: Path | None,
    strict: bool,
    ignore: tuple[str, ...],
    table: Path | None,
) -> Exit:
    """Collect facts (or read them from bundles), judge them, print the report."""
    from npudoctor.check import run
    from npudoctor.pairing.table import load
    from npudoctor.report import emit
    from npudoctor.report.keep import keep

    if record is not None and replay is not None:
        raise UserError(_ONE_WAY)
    ignored = _codes(ignore)
    tables = load(table)  # bad input is told before the machine is looked at
    if replay is not None and replay.is_dir():
        return _fleet(session, replay, table, strict, ignored)
    if replay is not None:
        machine = run.replayed(replay)
    else:
        machine = _observed(session, python, not no_probes, timeout, smi_timeout, record)
    if record is not None and str(record) == "-":
        session = dataclasses.replace(session, quiet=True)  # standard output holds the bundle alone
    report = run.report(machine, tables, ignore=ignored)
    emit(session, report)
    if replay is None:  # a replayed machine is not this one
        keep(report)
    return report.exit_code(strict)


def _observed(
    session: Session, python: str, probes: bool, timeout: float, smi_timeout: float, record: Path | None
) -> Machine:
    """The facts about this machine; with `record`, also as a bundle in that file."""
    from npudoctor.check import run
    from npudoctor.check.lookups import package_names
    from npudoctor.machine.collect import all_probes
    from npudoctor.machine.probe import Settings

    to_file = record is not None and str(record) != "-"
    if record is not None and to_file and not record.absolute().parent.is_dir():
        raise UserError(_NO_FOLDER, params={"path": record})
    # Child processes start in the root folder; a symbolic link of an environment stays as it is.
    python = os.path.abspath(python) if os.sep in python else python
    settings = Settings(python, probes, timeout, smi_timeout, package_names())
    with session.progress(_LOOKING, len(all_probes())) as advance:
        machine = run.observed(settings, record, advance)
    if to_file:
        session.note(_WRITTEN, {"path": record})
    return machine


def _codes(given: tuple[str, ...]) -> frozenset[str]:
    """The codes of --ignore, which may stand one by one or with commas between them, as with migrate."""
    from npudoctor.check.engine import all_checks

    codes = [word.strip().upper() for words in given for word in words.split(",") if word.strip()]
    for code in codes:
        if code not in all_checks():
            raise UserError(_UNKNOWN_CODE, _CODES, {"code": code})
    return frozenset(codes)


def _fleet(
    session: Session, folder: Path, table: Path | None, strict: bool, ignored: frozenset[str]
) -> Exit:
    """Every bundle of a folder; lines are printed as they come."""
    from npudoctor.fleet.survey import survey
    from npudoctor.fleet.view import Counts, json_lines, text_lines
    from npudoctor.report import emit_lines

    counts = Counts()
    with session.progress(_SURVEY) as advance:
        lines = _counted(survey(folder, table, ignore=ignored), advance)
        if session.json:
            emit_lines(session, json_lines(lines, counts, session.lang))
        else:
            emit_lines(session, text_lines(lines, counts, session.tr, session.lang))
    if not counts.hosts:
        raise UserError(_NO_BUNDLES, _MAKE, {"path": folder})
    bad = counts.bad + counts.unreadable + (counts.warned if strict else 0)
    return Exit.FINDINGS if bad else Exit.OK


def _counted(lines: Iterator[T], advance: Callable[[int], None]) -> Iterator[T]:
    for line in lines:
        advance(1)
        yield line
