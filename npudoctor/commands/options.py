"""Options that every command shares, and click classes whose help speaks both languages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from npudoctor.commands import words
from npudoctor.core.exits import Exit
from npudoctor.core.text import LANGUAGES, Text, default_language
from npudoctor.session import COLOR_CHOICES, Session


class Option(click.Option):
    """A click option whose help is a `Text`, rendered when help is shown."""

    def __init__(self, *args: Any, help_text: Text | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help_text = help_text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if self.help_text is not None:
            self.help = self.help_text.render(language_of(ctx))
        return super().get_help_record(ctx)


class Command(click.Command):
    """A click command whose help is a `Text`; its module stays silent about language."""

    def __init__(self, *args: Any, help_text: Text | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help_text = help_text

    def get_short_help_str(self, limit: int = 45) -> str:
        self._localise(click.get_current_context(silent=True))
        return (self.help or "").strip().split("\n")[0]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._localise(ctx)
        super().format_help(ctx, formatter)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return localised_help(super().get_help_option(ctx), ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [words.metavar(piece) for piece in super().collect_usage_pieces(ctx)]

    def _localise(self, ctx: click.Context | None) -> None:
        if self.help_text is not None:
            self.help = self.help_text.render(language_of(ctx))


class ProgramCommand(Command):
    """A command whose options end where someone's program begins: what follows is the program's own."""

    def program_at(self, args: list[str]) -> int:
        """Where in `args` the first word stands that is neither an option nor an option's value."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = {name for option in options if not option.is_flag for name in option.opts}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] != "--":
            place += 2 if args[place] in valued else 1
        return place


def language_of(ctx: click.Context | None) -> str:
    """The language chosen with --lang on the command or above it, else the process's.

    An option that ends the parsing (--help) comes here before a --lang behind it was parsed.
    """
    while ctx is not None:
        lang = ctx.params.get("lang")
        if lang:
            return str(lang)
        ctx = ctx.parent
    return words.spoken() or default_language()


_SHOW_HELP = Text("Show this message and exit.", "显示此帮助并退出。")


def localised_help(made: click.Option | None, ctx: click.Context) -> click.Option | None:
    """click's own --help with its words in the language of the command."""
    if made is not None:
        made.help = _SHOW_HELP.render(language_of(ctx))
    return made


def option(*names: str, help: Text, **kwargs: Any) -> Callable[[Any], Any]:
    """`click.option` with a bilingual help text."""
    return click.option(*names, cls=Option, help_text=help, **kwargs)


_SHARED = (
    option(
        "--lang", type=click.Choice(LANGUAGES), is_eager=True,
        help=Text("Language of messages (default: from the locale).", "消息语言（默认取自系统 locale）。"),
    ),
    option(
        "--color", type=click.Choice(COLOR_CHOICES), default=None,
        help=Text("Colour; NO_COLOR and FORCE_COLOR are honoured.", "颜色；遵循 NO_COLOR 与 FORCE_COLOR。"),
    ),
)
_OUTPUT = option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=None,
    help=Text("Write the result to this file.", "将结果写入该文件。"),
)
_SWITCHES = (
    option("--quiet", "-q", is_flag=True,
           help=Text("Print nothing; the exit code tells.", "不输出内容，仅以退出码表示结果。")),
    option("--verbose", "-v", is_flag=True,
           help=Text("Show passed items and evidence.", "显示已通过的项目与依据。")),
    option("--debug", is_flag=True,
           help=Text("Show tracebacks of internal errors.", "显示内部错误的完整堆栈。")),
    option("--exit-zero", is_flag=True,
           help=Text("Exit 0 even with findings.", "即使有发现也以 0 退出。")),
)


def shared_options(
    formats: tuple[str, ...] = ("text", "json"), *, output: bool = True
) -> Callable[[Any], Any]:
    """Add the shared options and call the command with a `Session` as first argument.

    The command returns an `Exit` (or None for OK); `--exit-zero` maps FINDINGS to OK.
    A command whose own `--output` means something else passes `output=False`.
    """
    added = (
        option("--format", "format_", type=click.Choice(formats), default="text",
               help=Text("Form of the result.", "结果的形式。")),
        option("--json", "as_json", is_flag=True,
               help=Text("Same as --format json.", "等同于 --format json。")),
        *_SHARED, *((_OUTPUT,) if output else ()), *_SWITCHES,
    )

    def decorate(function: Callable[..., Exit | None]) -> Callable[..., None]:
        decorated: Any = _with_session(function, takes_output=output)
        for add in reversed(added):
            decorated = add(decorated)
        return cast("Callable[..., None]", decorated)

    return decorate


def _with_session(function: Callable[..., Exit | None], *, takes_output: bool) -> Callable[..., None]:
    """`function` called with a `Session` made of the shared options; its exit code ends the command."""

    @functools.wraps(function)
    def wrapper(
        *args: Any, lang: str | None, color: str | None, quiet: bool, verbose: bool,
        debug: bool, exit_zero: bool, format_: str, as_json: bool, **kwargs: Any,
    ) -> None:
        ctx = click.get_current_context()
        above = ctx.find_root().params
        session = Session(
            lang=lang or language_of(ctx.parent),
            color=color or above.get("color") or "auto",
            format="json" if as_json else format_,
            output=kwargs.pop("output", None) if takes_output else None,
            quiet=quiet,
            verbose=verbose,
        )
        code = function(session, *args, **kwargs)
        code = Exit.OK if code is None else code
        ctx.exit(int(Exit.OK if code is Exit.FINDINGS and exit_zero else code))

    return wrapper
