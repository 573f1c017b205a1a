"""A console that shows control characters instead of obeying them.

Logs, version files and the output of npu-smi are quoted in reports. An escape sequence in
them must not steer the terminal of the reader, whatever part of a report it ends up in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType

# C0 but newline and tab, DEL, C1, and the marks that turn the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class SafeConsole(Console):
    """A rich console; its own colours work, escape sequences in the text are printed as `\\x1b`."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of `renderable` with control characters in their text escaped."""
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROL.search(segment.text):
                yield segment
            else:
                yield Segment(escaped(segment.text), segment.style)


def escaped(text: str) -> str:
    """`text` with control characters written as Python escapes."""
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)
