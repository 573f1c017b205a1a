"""A console that shows control characters instead of obeying them.

Logs, version files and the output of npu-smi are quoted in reports. An escape sequence in
them must not steer the terminal of the reader, whatever part of a report it ends up in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.segment import Segment

from npudoctor.core.text import escaped
from npudoctor.report.line import Line

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType

class SafeConsole(Console):
    """A rich console; its own colours work, escape sequences in the text are printed as `\\x1b`."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does; a `Line` keeps its own way to wrap, which rich loses where it joins texts."""
        super().print(*(Group(each) if isinstance(each, Line) else each for each in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of `renderable` with control characters in their text escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)
