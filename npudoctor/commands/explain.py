"""`npudoctor explain`: what a log, a traceback or an error code means, and what to do."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError, cannot_read
from npudoctor.core.exits import Exit
from npudoctor.core.streams import standard_input
from npudoctor.core.text import Text
from npudoctor.core.unit_words import Part
from npudoctor.session import Session

if TYPE_CHECKING:
    from types import ModuleType

    from npudoctor.core.blocks import Answer
    from npudoctor.core.report import Report
    from npudoctor.symptoms.match import Scanner

_HELP = Text(
    "Explain a log file (- for standard input), an error code, or a symptom.\n\n"
    "A traceback, a CANN plog or a training log of any size is searched for known symptoms; "
    "causes come first. `explain 507008`, `explain EI0006`, `explain -- -8005` and "
    "`explain NPU012` show what is known about a code; a message may be pasted in quotes.",
    "解释日志文件（- 表示标准输入）、错误码或症状。\n\n"
    "在任意大小的 traceback、CANN plog 或训练日志中查找已知症状，原因排在最前。"
    "`explain 507008`、`explain EI0006`、`explain -- -8005`、`explain NPU012` 显示某个代码的已知信息；"
    "也可以用引号括起一段报错信息直接查询。",
)
_READING = Text("reading the log", "正在读取日志")
_NEITHER = Text(
    "{what}: neither a file nor a known code or symptom", "{what}：既不是文件，也不是已知的代码或症状"
)
_NEITHER_HINT = Text(
    "give a log file, - for standard input, or a code such as 507008, EI0006, -8005",
    "请给出日志文件、用 - 表示标准输入，或 507008、EI0006、-8005 这样的代码",
)
_UNIT = Text("what {code} looks for", "{code} 检查的内容")
_ABOUT = Text("about", "说明")
_WHOLE_FILE = Text(
    "what `npudoctor migrate` says about a file as a whole", "`npudoctor migrate` 对整个文件的说明"
)
_SAYS = Text("what `npudoctor {command}` says", "`npudoctor {command}` 的报告")
_FOLDER = Text("{what} is a folder; give one log file of it", "{what} 是目录；请给出其中的一个日志文件")
# Packages whose modules are units named after their codes.
_UNITS = (
    "npudoctor.check.checks",
    "npudoctor.migrate.rules",
    "npudoctor.migrate.idioms",
    "npudoctor.profile.bounds",
    "npudoctor.simulate.rules",
    "npudoctor.smoke_test.stages",
    "npudoctor.export.rules",
)
# Commands that say more than their units do, and the modules that hold the words.
SAID = {
    "container": "npudoctor.container.plan",
    "pair": "npudoctor.pairing.present",
    "profile": "npudoctor.profile.words",
    "export": "npudoctor.export.words",
}
_PARTS = {
    Part.SAYS: Text("says", "报告"), Part.CAUSE: Text("cause", "原因"), Part.FIX: Text("fix", "修复"),
    Part.REASON: Text("not judged", "不作判断"),
}
_SOURCE = Text("source", "来源")


@click.command("explain", cls=Command, help_text=_HELP, context_settings={"ignore_unknown_options": True})
@click.argument("what", nargs=-1, required=True)
@option("--limit", type=click.IntRange(0), default=5, show_default=True,
        help=Text("Show at most this many symptoms (0: all).", "最多显示几个症状（0 为全部）。"))
@shared_options(formats=("text", "json"))
def COMMAND(session: Session, what: tuple[str, ...], limit: int) -> Exit:
    """Decide between file, code and words, and show the answer."""
    from npudoctor.report import emit

    text = " ".join(what)
    kind = _kind(text)
    if stat.S_ISDIR(kind):
        raise UserError(_FOLDER, params={"what": text})
    is_log = text == "-" or stat.S_ISREG(kind) or stat.S_ISFIFO(kind)
    report = _file(session, text, limit) if is_log else _page(text, limit)
    emit(session, report)
    return report.exit_code()


def _kind(text: str) -> int:
    """The file type of `text`, 0 where it is no path: a message pasted here may be longer than any."""
    try:
        return Path(text).stat().st_mode
    except PermissionError as error:
        raise cannot_read(text, error) from None
    except (OSError, ValueError):
        return 0


def _file(session: Session, name: str, limit: int) -> Report:
    from npudoctor.symptoms import present
    from npudoctor.symptoms.match import Scanner
    from npudoctor.symptoms.rank import ranked
    from npudoctor.symptoms.rows import all_symptoms

    scanner = Scanner(all_symptoms())
    try:
        if name == "-":
            _scan(session, scanner, standard_input().buffer, None)
        else:
            with Path(name).open("rb", buffering=0) as stream:
                _scan(session, scanner, stream, Path(name).stat().st_size)
    except OSError as error:
        raise cannot_read(name, error) from None
    return present.report(name, scanner, ranked(scanner)[: limit or None])


def _scan(session: Session, scanner: Scanner, stream: BinaryIO, size: int | None) -> None:
    with session.progress(_READING, size) as advance:
        scanner.scan(stream, advance)


def _pasted(text: str, limit: int) -> Report | None:
    """An error message, pasted in place of a file's name, read as the log that it is."""
    from npudoctor.symptoms import present
    from npudoctor.symptoms.match import scanned
    from npudoctor.symptoms.rank import ranked

    scanner = scanned(text)
    found = ranked(scanner)
    return present.report("-", scanner, found[: limit or None]) if found else None


def _page(text: str, limit: int) -> Report:
    from npudoctor.symptoms import codes, present
    from npudoctor.symptoms.rows import date

    tables = {"symptoms": date(), **codes.table_dates()}
    rows, symptoms = codes.rows_for(text), codes.symptoms_for(text)
    if rows or symptoms:
        return present.page(text, rows, symptoms, tables)
    unit = _unit_page(text)
    if unit is not None:
        return unit
    if codes.looks_like_code(text):
        return present.page(text, (), (), tables)
    found = codes.search(text)
    if not found and text.isidentifier():  # one word that is no path: asked for as a code
        return present.page(text, (), (), tables)
    if found:
        return present.page(text, (), found, tables)
    pasted = _pasted(text, limit)
    if pasted is None:
        raise UserError(_NEITHER, _NEITHER_HINT, {"what": text})
    return pasted


def _unit_page(text: str) -> Report | None:
    """The page of a check, rule, stage or bound with this code, taken from its own module."""
    import pkgutil
    import re
    from importlib import import_module

    from npudoctor.core.report import Report

    if not re.fullmatch(r"NPU\d{3}", text.upper()):
        return None
    for package in _UNITS:
        try:
            folder = import_module(package).__path__
        except ImportError:
            continue
        for module in pkgutil.iter_modules(folder):
            if module.name.startswith(f"{text.lower()}_"):
                unit = import_module(f"{package}.{module.name}")
                return Report("explain", _UNIT, {"code": text.upper()}, blocks=(_unit_block(unit),),
                              extra={"what": text, "unit": unit.__name__})
    return _file_page(text) or _said_page(text)


def _said_page(text: str) -> Report | None:
    """The page of a code that a command says without a unit of its own."""
    from importlib import import_module

    from npudoctor.core import unit_words
    from npudoctor.core.blocks import Answer
    from npudoctor.core.report import Report
    from npudoctor.core.text import filled, verbatim

    code = text.upper()
    for command, name in SAID.items():
        said = import_module(name).SAID.get(code)
        if said is not None:
            lines = [(_ABOUT, filled(_SAYS, {"command": command}))]
            lines += [(_PARTS[part], unit_words.bare(words)) for part, words in said.texts]
            lines += [(_SOURCE, verbatim(source)) for source in said.sources]
            answer = Answer(verbatim(f"{code}  {said.slug}"), tuple(lines))
            return Report("explain", _UNIT, {"code": code}, blocks=(answer,),
                          extra={"what": text, "unit": said.slug})
    return None


def _file_page(text: str) -> Report | None:
    """The page of what `migrate` says about a whole file; no rule of its own stands behind it."""
    from npudoctor.core import unit_words
    from npudoctor.core.blocks import Answer
    from npudoctor.core.report import Report
    from npudoctor.core.text import verbatim
    from npudoctor.migrate import problems, result

    code = text.upper()
    pages = {**{c: (slug, (message,)) for c, (slug, message) in problems.UNITS.items()}, **result.PAGES}
    if code not in pages:
        return None
    slug, messages = pages[code]
    lines = [(_ABOUT, _WHOLE_FILE)]
    for message in messages:
        parts = ((Part.SAYS, message.title), (Part.CAUSE, message.cause), (Part.FIX, message.fix))
        lines += [(_PARTS[part], unit_words.bare(words)) for part, words in parts]
        lines += [(_SOURCE, verbatim(source)) for source in message.sources]
    answer = Answer(verbatim(f"{code}  {slug}"), tuple(lines))
    return Report("explain", _UNIT, {"code": code}, blocks=(answer,), extra={"what": text, "unit": slug})


def _unit_block(module: ModuleType) -> Answer:
    """What a unit looks for, what it says, and its sources."""
    from npudoctor.core import unit_words
    from npudoctor.core.blocks import Answer
    from npudoctor.core.text import verbatim

    code, unit = unit_words.code_of(module), unit_words.unit_of(module)
    lines = [(_ABOUT, unit_words.about(module))]
    lines += [(_PARTS[part], text) for part, text in unit_words.words(module)]
    message = getattr(unit, "message", unit)
    for source in getattr(message, "sources", ()) or getattr(unit, "sources", ()):
        lines.append((_SOURCE, verbatim(source)))
    slug = module.__name__.rpartition(".")[2].partition("_")[2].replace("_", "-")
    title = getattr(unit, "title", None)
    head = verbatim(f"{code}  {slug}")
    if isinstance(title, Text):
        words = unit_words.bare(title)
        head = verbatim(f"{code}  {slug}: {words.en}", f"{code}  {slug}：{words.zh}")
    return Answer(head, tuple(lines))
