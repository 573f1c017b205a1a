"""Print a diff as the bytes it is; coloured only for a person."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from npudoctor.session import Session

_STYLES = ((b"+++", "bold"), (b"---", "bold"), (b"@@", "cyan"), (b"+", "green"), (b"-", "red"))


def emit_diff(session: Session, data: bytes) -> None:
    """Write `data` to the output file or standard output (nothing there with --quiet)."""
    if session.output is not None:
        from npudoctor.atomic import output

        with output(session.output) as stream:
            stream.write(data)
    elif not session.quiet:
        console = session.console()
        if console.color_system is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _coloured(console, data)


def _coloured(console: Console, data: bytes) -> None:
    from rich.text import Text as Line

    from npudoctor.report.migration import plain

    for line in data.split(b"\n")[:-1]:
        style = next((style for mark, style in _STYLES if line.startswith(mark)), "")
        text = plain(line.decode("utf-8", "replace").replace("\t", "    "))
        console.print(Line(text, style=style), soft_wrap=True)
