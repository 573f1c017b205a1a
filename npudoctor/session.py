"""What a command needs from its surroundings: language, streams, colour, verbosity.

Commands get a `Session` and never look at sys.stdout, the locale or the terminal
themselves, so tests can hand them their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from npudoctor.core.text import Text

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 100  # where nothing tells how wide a line may be
COLOR_CHOICES = ("auto", "always", "never")


@dataclass(frozen=True)
class Session:
    """One invocation of one command.

    Attributes:
        lang: `en` or `zh`.
        color: `auto`, `always` or `never` (over NO_COLOR over FORCE_COLOR over the terminal).
        format: `text`, `json`, or another form the command offers.
        output: file to write the result to instead of standard output.
        quiet: print nothing but errors; the exit code tells.
        verbose: show passed units and evidence.
    """

    lang: str = "en"
    color: str = "auto"
    format: str = "text"
    output: Path | None = None
    quiet: bool = False
    verbose: bool = False

    @property
    def json(self) -> bool:
        """Whether the result is wanted as JSON."""
        return self.format == "json"

    def tr(self, text: Text, params: Mapping[str, object] | None = None) -> str:
        """`text` in this session's language."""
        return text.render(self.lang, params)

    def console(self, stream: TextIO | None = None, *, width: int | None = None) -> Console:
        """A rich console on `stream` (default: standard output) that obeys the colour rules."""
        from npudoctor.report.safe import SafeConsole

        stream = sys.stdout if stream is None else stream
        use_color = wants_color(self.color, stream, os.environ)
        if width is None and not stream.isatty():
            asked = os.environ.get("COLUMNS", "")
            width = int(asked[:6]) if asked.isdecimal() and asked.strip("0") else _WIDTH
        return SafeConsole(
            file=stream,
            color_system="auto" if use_color else None,
            no_color=not use_color,
            force_terminal=True if self.color == "always" else None,
            highlight=False,
            emoji=False,
            markup=False,
            soft_wrap=False,
            width=width,
        )

    def note(self, text: Text, params: Mapping[str, object] | None = None) -> None:
        """A line of progress or explanation on standard error (silent with --quiet)."""
        if not self.quiet:
            print(self.tr(text, params), file=sys.stderr)

    @contextmanager
    def progress(self, title: Text, total: int | None = None) -> Iterator[Any]:
        """Yield `advance(n)`; a bar shows on a terminal once the work lasts over two seconds."""
        from npudoctor.report.progress import delayed_bar

        with delayed_bar(self, self.tr(title), total) as advance:
            yield advance


def wants_color(choice: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Resolve --color, NO_COLOR, FORCE_COLOR and the terminal, in this order."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"
