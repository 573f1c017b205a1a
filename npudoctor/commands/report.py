"""`npudoctor report`: one page with the last result of every command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from npudoctor.commands.options import Command, option, shared_options
from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.core.text import Text
from npudoctor.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npudoctor.state import Last

_PAGE = Path("npudoctor-report.html")
_HELP = Text(
    "Write one self-contained page with the last result of every command.",
    "将每个命令的最近一次结果汇总成一个自包含的网页。",
)
_EMPTY = Text("no results are kept yet", "还没有保存任何结果")
_FIRST = Text("run `npudoctor check` first", "请先运行 `npudoctor check`")
_WROTE = Text("wrote {path}", "已写入 {path}")


@click.command("report", cls=Command, help_text=_HELP)
@option(
    "--output",
    "-o",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default=str(_PAGE),
    help=Text(
        "Page to write; with --json, the file for the results.", "要写入的网页；与 --json 同用时为结果文件。"
    ),
)
@shared_options(formats=("text", "json"), output=False)
def COMMAND(session: Session, target: Path | None) -> Exit:
    """See `_HELP`."""
    from npudoctor import state
    from npudoctor.report import emit_text

    known = state.recall()
    if not known:
        raise UserError(_EMPTY, _FIRST)
    if session.json:
        emit_text(replace(session, output=target), _as_json(known, session.lang))
        return Exit.OK
    from npudoctor.report.summary import page

    target = target or _PAGE
    emit_text(replace(session, output=target), page(known, session.lang))
    session.note(_WROTE, {"path": str(target)})
    return Exit.OK


def _as_json(known: Mapping[str, Last], lang: str) -> str:
    data = {
        "schema": "npudoctor.summary/1",
        "results": {
            name: {"when": last.when, "folder": last.folder, "report": last.report.get(lang)}
            for name, last in known.items()
        },
    }
    return json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True)
