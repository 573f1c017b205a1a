"""No English phrase travels as a parameter into a Chinese sentence: such a value is a `Text` too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

# Parameters of messages that say why or what, not what something is called.
TELLING = {"reason", "problem", "why", "wanted", "near", "what", "detail", "message", "error"}
# What other programs say is quoted as it is; these are no sentences of ours.
PHRASE = re.compile(r"[A-Za-z]{2,}\W+[A-Za-z]{2,}|\b(a|no|not|of|is|are|larger|damaged) ")
SOURCES = [p for p in sorted((ROOT / "npudoctor").rglob("*.py")) if "migrate" not in p.parts]


def phrases(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, parameter, English words) of each dictionary that is written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant) and key.value in TELLING:
                    yield from ((value.lineno, str(key.value), words) for words in _said(value))


def _said(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "0" for v in node.values)
    elif isinstance(node, (ast.IfExp, ast.BoolOp)):
        for inner in [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values:
            yield from _said(inner)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_english_phrase_is_a_parameter(path: Path) -> None:
    for line, name, words in phrases(ast.parse(path.read_text(encoding="utf-8"))):
        assert not PHRASE.search(words), f"{path}:{line}: {name} = {words!r} in every language"
