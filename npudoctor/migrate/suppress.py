"""`# npudoctor: ignore[NPU101, NPU201]` comments."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

_COMMENT = re.compile(r"#\s*npudoctor:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")
_WORD = "npudoctor:"


@dataclass
class Suppressions:
    """Line -> codes ignored there; `bare` lines name no code and ignore nothing."""

    codes: dict[int, set[str]] = field(default_factory=dict)
    bare: list[int] = field(default_factory=list)
    used: set[tuple[int, str]] = field(default_factory=set)

    def hides(self, code: str, first: int, last: int) -> bool:
        """Whether a finding of `code` on lines `first` to `last` is ignored; remembers that it was."""
        hidden = False
        for line, codes in self.codes.items():
            if first <= line <= last and code in codes:
                self.used.add((line, code))
                hidden = True
        return hidden

    def unused(self) -> list[tuple[int, str]]:
        """`(line, code)` pairs that hid nothing."""
        every = {(line, code) for line, codes in self.codes.items() for code in codes}
        return sorted(every - self.used)


def find(text: str) -> Suppressions:
    """Every suppression comment of a module; strings that look like one are none."""
    found = Suppressions()
    if _WORD not in text:
        return found
    for number, comment in _comments(text):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        codes = {c.strip() for c in (match["codes"] or "").split(",") if c.strip()}
        if codes:
            found.codes[number] = codes
        else:
            found.bare.append(number)
    return found


def _comments(text: str) -> Iterator[tuple[int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return  # broken modules are reported by the parser
