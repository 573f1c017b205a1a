"""What click itself says, in the language of the command: headings and remarks of --help, errors in usage.

click marks its words for gettext. npudoctor's messages are no gettext catalogue, so click's modules get a
function that looks a sentence up here; one that is not listed stays as click has it. Sentences are listed as
the releases from 8.1 on write them.
"""

from __future__ import annotations

import click.core
import click.exceptions
import click.formatting
import click.parser
import click.types

from npudoctor.core.text import Text

_WORDS = (
    Text("Usage:", "用法:"),
    Text("Options", "选项"),
    Text("Commands", "命令"),
    Text("Positional arguments", "位置参数"),
    Text("default: {default}", "默认：{default}"),
    Text("required", "必填"),
    Text("(dynamic)", "（动态）"),
    Text("Missing argument", "缺少参数"),
    Text("Missing option", "缺少选项"),
    Text("Missing command.", "缺少命令"),
    Text("No such option {name!r}.", "没有选项 {name}"),
    Text("No such option: {name}", "没有选项 {name}"),
    Text("No such command {name!r}.", "没有命令 {name}"),
    Text("Did you mean {possibility}?", "是否想用 {possibility}？"),
    Text("(Did you mean one of: {possibilities}?)", "（是否想用其中之一：{possibilities}？）"),
    Text("(Possible options: {possibilities})", "（相近的选项：{possibilities}）"),
    Text("Option {name!r} requires an argument.", "选项 {name} 需要一个值"),
    Text("Option {name!r} does not take a value.", "选项 {name} 不接受值"),
    Text("Got unexpected extra argument ({args})", "多余的参数（{args}）"),
    Text("Got unexpected extra arguments ({args})", "多余的参数（{args}）"),
    Text("Invalid value: {message}", "取值无效：{message}"),
    Text("Invalid value for {param_hint}: {message}", "{param_hint} 的取值无效：{message}"),
    # The precision of 0 leaves the name of the type out: it is an English word.
    Text("{value!r} is not a valid {number_type}.", "{value!r} 不是有效的数字{number_type:.0}"),
    Text("{value} is not in the range {range}.", "{value} 不在范围 {range} 内"),
    Text("{value!r} is not {choice}.", "{value!r} 不是 {choice}"),
    Text("{value!r} is not one of {choices}.", "{value!r} 不是 {choices} 之一"),
    Text("{name} {filename!r} does not exist.", "{name} {filename!r} 不存在"),
    Text("{name} {filename!r} is a file.", "{name} {filename!r} 是一个文件"),
    Text("{name} {filename!r} is a directory.", "{name} {filename!r} 是一个目录"),
    Text("{name} {filename!r} is not readable.", "{name} {filename!r} 不可读"),
    Text("{name} {filename!r} is not writable.", "{name} {filename!r} 不可写"),
    Text("file", "文件"),
    Text("directory", "目录"),
    Text("path", "路径"),
)
_ZH = {text.en: text.zh for text in _WORDS}
_METAVARS = (("[OPTIONS]", "[选项]"), ("[COMMAND]", "[命令]"), ("[ARGS]", "[参数]"))
_MODULES = (click.core, click.exceptions, click.formatting, click.parser, click.types)
_spoken = {"lang": ""}


def speak(lang: str) -> None:
    """Let click speak `lang` from now on, in this process."""
    _spoken["lang"] = lang
    for module in _MODULES:
        for name, function in (("_", _gettext), ("ngettext", _ngettext)):
            if hasattr(module, name):
                setattr(module, name, function)


def spoken() -> str:
    """The language that was chosen for this process; empty before `speak`."""
    return _spoken["lang"]


def metavar(piece: str) -> str:
    """A piece of the usage line: what stands for options, a command and its arguments."""
    if spoken() == "zh":
        for english, chinese in _METAVARS:
            piece = piece.replace(english, chinese)
    return piece


def _gettext(message: str) -> str:
    return _ZH.get(message, message) if spoken() == "zh" else message


def _ngettext(one: str, many: str, n: int) -> str:
    return _gettext(one if n == 1 else many)
