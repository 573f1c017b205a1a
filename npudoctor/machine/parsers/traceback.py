"""Find the exception that matters in the output of a Python that failed."""

from __future__ import annotations

import re

_CHAIN = re.compile(
    r"^(?:The above exception was the direct cause of the following exception:"
    r"|During handling of the above exception, another exception occurred:)$",
    re.M,
)
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_][\w]*\.)*(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Exit|Warning)(?::.*)?$"
)
_FATAL = re.compile(r"^(?:Fatal Python error: .*|Segmentation fault.*|Aborted.*|.*core dumped.*)$")


def exceptions(text: str) -> tuple[str, str]:
    """(innermost, outermost) exception line of a traceback; both empty when there is none.

    Python prints a chain from the inside out: the first block holds the cause. Within a
    block the last exception line counts, as a message may quote others above it.
    """
    ends = [line for block in _CHAIN.split(text) for line in [_last(block)] if line]
    return (ends[0], ends[-1]) if ends else ("", "")


def _last(block: str) -> str:
    found = ""
    for line in block.splitlines():
        bare = line.strip()
        if _EXCEPTION.match(bare) or _FATAL.match(bare):
            found = bare
    return found[:2000]


def tail(text: str, lines: int = 12) -> tuple[str, ...]:
    """The last lines that are not empty."""
    return tuple(line.rstrip()[:500] for line in text.splitlines() if line.strip())[-lines:]
