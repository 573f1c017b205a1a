"""`npudoctor profile`: record a script, or read a trace, and say what bounds it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npudoctor.commands.options import ProgramCommand, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

if TYPE_CHECKING:
    from rich.console import Console

    from npudoctor.core.report import Report
    from npudoctor.profile.model import Trace

_HELP = Text(
    "Why is it slow? Operator time, idle gaps or syncs.\n\n"
    "TARGET is a Python script to record (with its arguments after it), a Chrome trace (.json, .json.gz), "
    "or what torch_npu's profiler wrote (a folder or a .db). Options of npudoctor go before a script. "
    "Exit code 1 means a bottleneck was found.",
    "为什么慢？是算子耗时、空闲间隙还是同步？\n\n"
    "TARGET 可以是要记录的 Python 脚本（其后跟脚本参数）、Chrome trace（.json、.json.gz）"
    "或 torch_npu profiler 的输出（目录或 .db）。npudoctor 的选项须写在脚本之前。退出码 1 表示发现了瓶颈。",
)
_READING = Text("reading the trace", "读取 trace")
_NEEDS = Text("npudoctor profile needs {package}", "npudoctor profile 需要 {package}")
_INSTALL = Text(
    "python -m pip install numpy ijson, or install npudoctor[profile]",
    "请执行 python -m pip install numpy ijson，或安装 npudoctor[profile]",
)
_TWO = Text("--compare takes exactly two traces", "--compare 需要恰好两个 trace")
_TRACE_ALONE = Text(
    "a trace takes no arguments, and there is {args} after {target}",
    "trace 不接受参数，但 {target} 之后有 {args}",
)
_COMPARE = Text("two traces need --compare", "比较两个 trace 请用 --compare")
_NO_TARGET = Text("profile needs a script or a trace", "profile 需要一个脚本或 trace")


def _is_program(target: str, module: bool) -> bool:
    """Whether the target is to be recorded; everything else is a trace to be read."""
    return module or target.endswith(".py")


class Profile(ProgramCommand):
    """Arguments behind a script are the script's own; behind a trace, options are npudoctor's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = self.program_at(args)
        ctx.allow_interspersed_args = place == len(args) or not _is_program(args[place], "-m" in args[:place])
        return super().parse_args(ctx, args)


@click.command("profile", cls=Profile, help_text=_HELP)
@click.argument("target", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@option(
    "--compare",
    "comparing",
    is_flag=True,
    help=Text("Compare two traces: --compare BEFORE AFTER.", "比较两个 trace：--compare 之前 之后。"),
)
@option(
    "-m",
    "module",
    is_flag=True,
    help=Text("TARGET is a module, as in python -m.", "TARGET 是模块名，同 python -m。"),
)
@option(
    "--warmup",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help=Text("Seconds before recording starts.", "开始记录前的秒数。"),
)
@option(
    "--duration",
    type=click.FloatRange(min=0.1),
    default=3.0,
    show_default=True,
    help=Text("Seconds to record.", "记录的秒数。"),
)
@option(
    "--save-trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help=Text("Keep the recorded trace here.", "将记录的 trace 保存到此处。"),
)
@option(
    "--keep-running",
    is_flag=True,
    help=Text("Let the script go on after recording.", "记录完成后让脚本继续运行。"),
)
@option("--python", default=None, help=Text("Interpreter to record with.", "用于记录的解释器。"))
@shared_options(formats=("text", "json", "html"))
def COMMAND(
    session: Session,
    target: str | None,
    args: tuple[str, ...],
    comparing: bool,
    module: bool,
    warmup: float,
    duration: float,
    save_trace: Path | None,
    python: str | None,
    keep_running: bool,
) -> Exit:
    """See `_HELP`."""
    _require()
    if target is None:
        raise UserError(_NO_TARGET)
    if comparing:
        if len(args) != 1:
            raise UserError(_TWO)
        return _compare(session, Path(target), Path(args[0]))
    if not _is_program(target, module):
        if args:
            raise UserError(_TRACE_ALONE, _COMPARE, {"target": target, "args": " ".join(args)})
        return _show(session, _read(session, Path(target)), Path(target))
    options: dict[str, Any] = {} if python is None else {"python": python}
    with tempfile.TemporaryDirectory(prefix="npudoctor-") as folder:
        trace = _record(
            Path(folder),
            save_trace,
            target,
            args,
            warmup_s=warmup,
            duration_s=duration,
            module=module,
            keep_running=keep_running,
            **options,
        )
        return _show(session, _read(session, trace))


def _record(folder: Path, save: Path | None, target: str, args: tuple[str, ...], **options: Any) -> Path:
    """The trace of a script: in `folder`, or in the user's file, which a run without a trace leaves as it is.

    Raises:
        UserError: nothing was recorded, or `save` cannot be written.
    """
    from npudoctor.atomic import output
    from npudoctor.profile.record import record

    if save is None:
        trace = folder / "trace.json"
        record(target, args, trace=trace, **options)
        return trace
    trace = folder / save.name  # torch's profiler packs what ends in .gz
    with output(save) as kept:
        record(target, args, trace=trace, **options)
        with open(trace, "rb") as stream:
            shutil.copyfileobj(stream, kept)
    return save if save.is_file() else trace


def _require() -> None:
    for package in ("numpy", "ijson"):
        try:
            __import__(package)
        except ImportError:
            raise UserError(_NEEDS, _INSTALL, {"package": package}) from None


def _read(session: Session, path: Path) -> Trace:
    from npudoctor.profile.readers import read, total_bytes

    with session.progress(_READING, total_bytes(path)) as advance:
        return read(path, advance)


def _compare(session: Session, before: Path, after: Path) -> Exit:
    from npudoctor import report
    from npudoctor.profile.analyse import analyse
    from npudoctor.profile.compare import compare

    result = compare(analyse(_read(session, before)), analyse(_read(session, after)))
    if session.format == "html":
        from npudoctor.report import page

        page.require_writer(session.output or before)
        report.emit_text(session, page.render(result, session.lang))
    else:
        report.emit(session, result)
    return Exit.OK


def _show(session: Session, trace: Trace, path: Path | None = None) -> Exit:
    from npudoctor import report
    from npudoctor.profile.analyse import analyse
    from npudoctor.profile.folder import statistics
    from npudoctor.profile.timeline import lanes
    from npudoctor.profile.verdict import judge
    from npudoctor.report.keep import keep

    result = judge(analyse(trace), statistics(path) if path is not None else None)
    keep(result)
    if session.format == "html":
        from npudoctor.report.profile_html import page

        report.emit_text(session, page(result, lanes(trace), session.lang))
    elif session.json:
        report.emit(session, result)
    else:
        report.emit_drawn(session, lambda console: _draw(console, result, session))
    return result.exit_code(strict=True)


def _draw(console: Console, result: Report, session: Session) -> None:
    """The tables of the analysis, then the report."""
    from npudoctor.report import profile_text, terminal

    analysis: Any = result.extra["analysis"]
    profile_text.render(analysis, console, session)
    terminal.render(result, console, session)
