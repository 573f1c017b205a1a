"""`npudoctor report`: one page with the last result of every command."""

from __future__ import annotations

from pathlib import Path

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

_HELP = Text(
    "Write one self-contained page with the last result of every command.",
    "将每个命令的最近一次结果汇总成一个自包含的网页。",
)
_EMPTY = Text("no results are kept yet", "还没有保存任何结果")
_FIRST = Text("run `npudoctor check` first", "请先运行 `npudoctor check`")
_WROTE = Text("wrote {path}", "已写入 {path}")
_JINJA = Text("npudoctor report needs jinja2", "npudoctor report 需要 jinja2")
_INSTALL = Text("pip install 'npudoctor[report]'", "请执行 pip install 'npudoctor[report]'")


@click.command("report", cls=Command, help_text=_HELP)
@option(
    "--output",
    "-o",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("npudoctor-report.html"),
    show_default=True,
    help=Text("Page to write.", "要写入的网页。"),
)
@shared_options(formats=("text", "json"), output=False)
def COMMAND(session: Session, target: Path) -> Exit:
    """See `_HELP`."""
    from npudoctor import atomic, state

    known = state.recall()
    if not known:
        raise UserError(_EMPTY, _FIRST)
    if session.json:
        import json

        data = {
            "schema": "npudoctor.summary/1",
            "results": {
                name: {"when": last.when, "folder": last.folder, "report": last.report.get(session.lang)}
                for name, last in known.items()
            },
        }
        click.echo(json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True))
        return Exit.OK
    try:
        from npudoctor.report.summary import page

        text = page(known, session.lang)
    except ImportError:
        raise UserError(_JINJA, _INSTALL) from None
    atomic.write_output(target, text)
    session.note(_WROTE, {"path": str(target)})
    return Exit.OK
