"""Programs that run inside the interpreter under diagnosis, as `python -c`.

They use the standard library only and stay in the language of Python 3.7, because that
interpreter may be old. Each prints lines `NPUDOCTOR {json}`; anything else on standard
output comes from the libraries (CANN logs there).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

MARK = "NPUDOCTOR "


@cache
def source(name: str) -> str:
    """The text of the child program `name`."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
