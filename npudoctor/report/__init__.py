"""Renderers: the same `Report` as text or JSON. They choose words and form, and decide nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npudoctor.core.report import Report
    from npudoctor.session import Session

__all__ = ["emit", "emit_lines", "emit_text"]


def emit(session: Session, report: Report) -> None:
    """Render `report` in the session's format to its output (nothing with --quiet)."""
    if session.format == "json":
        from npudoctor.report.as_json import dumps

        emit_text(session, dumps(report, session.lang))
        return
    if session.quiet and session.output is None:
        return
    from npudoctor.report.terminal import render

    if session.output is None:
        render(report, session.console(), session)
        return
    import io

    buffer = io.StringIO()
    render(report, session.console(buffer), session)
    emit_text(session, buffer.getvalue())


def emit_text(session: Session, text: str) -> None:
    """Write finished text to --output (atomically) or standard output."""
    if not text.endswith("\n"):
        text += "\n"
    if session.output is not None:
        from npudoctor.atomic import write_text
        from npudoctor.core.errors import UserError
        from npudoctor.core.text import Text

        try:
            write_text(Path(session.output), text)
        except OSError as error:
            raise UserError(
                Text("cannot write {path}: {reason}", "无法写入 {path}：{reason}"),
                params={"path": str(session.output), "reason": error.strerror or str(error)},
            ) from None
    elif not session.quiet:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            sys.stdout.write(text.encode("ascii", "backslashreplace").decode("ascii"))


def emit_lines(session: Session, lines: Iterable[str]) -> None:
    """Write lines one by one as they are made, without keeping them.

    With --output they go to a temporary file beside it, which takes its place at the end.
    """
    if session.output is None:
        for line in lines:
            emit_text(session, line)
        return
    from npudoctor.core.errors import UserError
    from npudoctor.core.text import Text

    part = session.output.with_name(f".{session.output.name}.part")
    try:
        with open(part, "w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        part.replace(session.output)
    except OSError as error:
        raise UserError(
            Text("cannot write {path}: {reason}", "无法写入 {path}：{reason}"),
            params={"path": str(session.output), "reason": error.strerror or str(error)},
        ) from None
    finally:
        part.unlink(missing_ok=True)
