"""The `npudoctor` command line: a lazy group, and the only place that maps errors to exit codes."""

from __future__ import annotations

import errno
import os
import pkgutil
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn

import click

from npudoctor import commands
from npudoctor.commands import words
from npudoctor.commands.options import Command, Option, language_of, localised_help
from npudoctor.core.errors import UserError, reason
from npudoctor.core.exits import Exit
from npudoctor.core.text import LANGUAGES, Text, default_language, escaped
from npudoctor.session import COLOR_CHOICES
from npudoctor.version import __version__

_HELP = Text(
    "Move PyTorch reinforcement learning from CUDA to Ascend NPUs.\n\n"
    "Exit codes: 0 nothing to report, 1 findings, 2 usage or input error, 3 internal error.",
    "将 PyTorch 强化学习代码从 CUDA 迁移到昇腾 NPU。\n\n"
    "退出码：0 无发现，1 有发现，2 用法或输入错误，3 内部错误。",
)
_INTERNAL = Text(
    "internal error: {kind}: {message} (run again with --debug for the traceback, and report it)",
    "内部错误：{kind}：{message}（请加 --debug 重新运行以查看堆栈并反馈）",
)
_FULL = Text("the result cannot be written: {reason}", "无法写入结果：{reason}")
_UNUSABLE = Text("cannot use {path}: {reason}", "无法使用 {path}：{reason}")
_NO_FOLDER = Text(
    "the current folder no longer exists; change to another one", "当前目录已不存在；请切换到其他目录"
)
_INTERRUPTED = Text("interrupted; nothing was left half-written", "已中断；没有留下写了一半的文件")
_NOT_COMMANDS = ("options", "words")


class LazyGroup(click.Group):
    """Lists the modules of `npudoctor.commands` and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (m.name for m in pkgutil.iter_modules(commands.__path__))
        return sorted(n.replace("_", "-") for n in names if n not in _NOT_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: Command = import_module(f"npudoctor.commands.{name.replace('-', '_')}").COMMAND
        return command

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return localised_help(super().get_help_option(ctx), ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [words.metavar(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.help = _HELP.render(language_of(ctx))
        super().format_help(ctx, formatter)


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="npudoctor", cls=Option,
                      help_text=Text("Show the version and exit.", "显示版本并退出。"))
@click.option("--lang", type=click.Choice(LANGUAGES), is_eager=True, cls=Option,
              help_text=Text("Language of messages.", "消息语言。"))
@click.option("--color", type=click.Choice(COLOR_CHOICES), cls=Option,
              help_text=Text("When to use colour.", "何时使用颜色。"))
@click.option("--debug", is_flag=True, cls=Option,
              help_text=Text("Show tracebacks of internal errors.", "显示内部错误的堆栈。"))
@click.pass_context
def group(ctx: click.Context, **_: Any) -> None:
    """Root command; options are read by the sub-commands through the context."""
    if ctx.invoked_subcommand is None:
        from npudoctor.report.steps import show

        show(language_of(ctx))


def main(args: list[str] | None = None) -> NoReturn:
    """Entry point of the console script; never lets a traceback out without --debug."""
    argv = list(sys.argv[1:] if args is None else args)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character shows its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`npudoctor check | head`): stay silent, and keep the
        # interpreter from complaining when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = int(Exit.OK)
    sys.exit(code)


def _open_streams() -> None:
    """Give a closed standard output or error (`>&-`, some service managers) a place to go: nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def run(argv: list[str]) -> int:
    """Run the command line and return its exit code."""
    lang, stdout = _language_in(argv), sys.stdout
    words.speak(lang)
    try:
        result = group.main(args=argv, prog_name="npudoctor", standalone_mode=False)
        return int(result) if isinstance(result, int) else int(Exit.OK)
    except UserError as error:
        _say(error.sentence.render(lang, error.params))
        if error.hint is not None:
            _say("  " + error.hint.render(lang, error.params))
        return int(Exit.USAGE)
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except click.ClickException as error:
        _say(error.format_message().rstrip("."))  # npudoctor's own sentences end without one
        return int(Exit.USAGE)
    except (KeyboardInterrupt, click.Abort):
        _say(_INTERRUPTED.render(lang))
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        raise
    except SystemExit as error:
        # The reader went away: rich, and click with another sys.stdout in place, end with 1 (findings).
        if isinstance(error.__context__, BrokenPipeError) or sys.stdout is not stdout:
            raise BrokenPipeError from None
        raise
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        outside = _outside(error, argv, lang)
        if outside:
            _say(outside)
            return int(Exit.USAGE)
        _say(_INTERNAL.render(lang, {"kind": type(error).__name__, "message": str(error)}))
        return int(Exit.INTERNAL)


def _outside(error: Exception, argv: list[str], lang: str) -> str:
    """One sentence where a disk is full, or the system refused the path or folder of the user, else empty."""
    if not isinstance(error, OSError):
        return ""
    try:
        os.getcwd()
    except OSError:
        return _NO_FOLDER.render(lang)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):  # standard output too: its errors name no file
        return _FULL.render(lang, {"reason": reason(error)})
    if not isinstance(error.filename, str):
        return ""
    place = os.path.abspath(error.filename)
    named = (os.path.abspath(word.rsplit("=", 1)[-1]) for word in argv if word)
    if not any(os.path.commonpath([place, path]) in (place, path) for path in named):
        return ""
    return _UNUSABLE.render(lang, {"path": error.filename, "reason": reason(error)})


def _say(sentence: str) -> None:
    text = escaped(sentence)  # a file's name or content that is quoted must not steer the terminal
    print(text if text.startswith(" ") else f"npudoctor: {text}", file=sys.stderr)


def _language_in(argv: list[str]) -> str:
    """The language for errors raised before, or outside, option parsing."""
    for position, word in enumerate(argv):
        if word == "--lang" and position + 1 < len(argv) and argv[position + 1] in LANGUAGES:
            return argv[position + 1]
        if word.startswith("--lang=") and word[7:] in LANGUAGES:
            return word[7:]
    return default_language()
