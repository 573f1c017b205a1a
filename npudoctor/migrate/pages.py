"""Read a rule's page: one Markdown file that is its documentation and its test.

Fenced blocks carry the examples; the word after the fence says what a block is:

- `before` / `after`: input and exact result; an `after` belongs to the `before` above it.
- `keep`: input that must come out unchanged.
- `findings`: what is left for a person in the block above, one `line CODE` per line.
- `other path=conf.py`: a further module of the project, known to the next block only.

Options follow the word: `path=a.py`, `style=portable`, `torch-npu=2.1.0.post17`, `unsafe`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from npudoctor.migrate.settings import DEFAULT_TORCH_NPU, Settings

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S)
_KINDS = frozenset({"before", "after", "keep", "findings", "other"})


@dataclass
class Example:
    """One input, what must come of it, and the settings it runs under."""

    line: int
    source: str
    expected: str
    is_keep: bool
    options: dict[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] | None = None
    others: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Path of the module within its project."""
        return self.options.get("path", "example.py")

    def settings(self, ignore: tuple[str, ...] = ()) -> Settings:
        """Settings as the block's options ask for."""
        return Settings(
            style=self.options.get("style", "npu"),
            torch_npu=self.options.get("torch-npu", DEFAULT_TORCH_NPU),
            unsafe="unsafe" in self.options,
            ignore=ignore,
        )


@dataclass(frozen=True)
class Page:
    """Title line, prose and examples of one rule."""

    title: str
    prose: str
    examples: tuple[Example, ...]


def parse(text: str) -> Page:
    """Parse a page.

    Raises:
        ValueError: an `after` or `findings` without a block to belong to, or a `before` without `after`.
    """
    examples: list[Example] = []
    others: dict[str, str] = {}
    for match in _FENCE.finditer(text):
        words = match["info"].split()
        if not words or words[0] not in _KINDS:
            continue
        kind, body = words[0], match["body"]
        options = dict(w.partition("=")[::2] for w in words[1:])
        line = text.count("\n", 0, match.start()) + 1
        if kind == "other":
            others[options["path"]] = body
        elif kind in ("before", "keep"):
            expected = body if kind == "keep" else ""
            examples.append(Example(line, body, expected, kind == "keep", options, None, others))
            others = {}
        elif not examples:
            raise ValueError(f"line {line}: {kind} belongs to nothing")
        elif kind == "after":
            examples[-1].expected = body
        else:
            examples[-1].findings = tuple(body.split("\n")[:-1])
    for example in examples:
        if not example.is_keep and not example.expected:
            raise ValueError(f"line {example.line}: before without after")
    title = text.split("\n", 1)[0].lstrip("# ").strip()
    return Page(title, _FENCE.sub("", text), tuple(examples))
