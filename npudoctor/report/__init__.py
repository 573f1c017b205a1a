"""Renderers: the same `Report` as text or JSON. They choose words and form, and decide nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console

    from npudoctor.core.report import Report
    from npudoctor.session import Session

__all__ = ["emit", "emit_drawn", "emit_lines", "emit_text"]


def emit(session: Session, report: Report) -> None:
    """Render `report` in the session's format to its output (nothing with --quiet)."""
    if session.format == "json":
        from npudoctor.report.as_json import dumps

        emit_text(session, dumps(report, session.lang))
        return
    from npudoctor.report.terminal import render

    emit_drawn(session, lambda console: render(report, console, session))


def emit_drawn(session: Session, draw: Callable[[Console], None]) -> None:
    """Have `draw` print on a console that leads to --output or standard output (not at all with --quiet)."""
    if session.output is not None:
        import io

        buffer = io.StringIO()
        draw(session.console(buffer))
        emit_text(session, buffer.getvalue())
    elif not session.quiet:
        draw(session.console())


def emit_text(session: Session, text: str) -> None:
    """Write finished text to --output (atomically) or standard output.

    Raises:
        UserError: --output cannot be written.
    """
    if not text.endswith("\n"):
        text += "\n"
    if session.output is not None:
        from npudoctor.atomic import write_output

        write_output(session.output, text)
    elif not session.quiet:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            sys.stdout.write(text.encode("ascii", "backslashreplace").decode("ascii"))


def emit_lines(session: Session, lines: Iterable[str]) -> None:
    """Write lines one by one as they are made, without keeping them.

    With --output the file appears at the end, whole.

    Raises:
        UserError: --output cannot be written.
    """
    if session.output is None:
        for line in lines:
            emit_text(session, line)
        return
    from npudoctor.atomic import output

    with output(session.output) as stream:
        stream.writelines(f"{line}\n".encode("utf-8", "replace") for line in lines)
