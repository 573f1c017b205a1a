"""Every message exists in both languages, and no module speaks past the catalogue."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re

import pytest

import npudoctor
from npudoctor.core.text import Text, catalogue
from tests.conftest import ROOT


def import_everything() -> None:
    for module in pkgutil.walk_packages(npudoctor.__path__, "npudoctor."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_catalogue_is_complete() -> None:
    import_everything()
    # Other tests of this process may have made messages of their own.
    texts = [(module, text) for module, text in catalogue() if module.split(".")[0] == "npudoctor"]
    assert len(texts) > 20
    for module, text in texts:
        # Chinese characters, or at least Chinese punctuation around bare names and numbers
        chinese = any("\u3000" <= c <= "\u9fff" or "\uff00" <= c <= "\uffef" for c in text.zh)
        assert chinese, f"{module}: not Chinese: {text.zh!r}"


SPEAKING = {"print", "echo", "secho", "write"}
# Programs of child processes speak a protocol, and the maintainers' tools speak English.
PROTOCOL = ("dev.py", "machine/children/", "smoke_test/children/", "machine/live.py")


def test_no_module_prints_words_of_its_own() -> None:
    """What is printed is rendered from a `Text`; a literal may hold the tool's name and signs only."""
    root, printed, loud = ROOT / "npudoctor", 0, []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith(PROTOCOL):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _called(node) in SPEAKING:
                printed += 1
                literals = [n.value for arg in node.args for n in _told(arg) if isinstance(n.value, str)]
                words = re.findall(r"[A-Za-z\u4e00-\u9fff]{2,}", " ".join(literals).replace("npudoctor", ""))
                loud += [f"{name}:{node.lineno}: {words}"] if words else []
    assert printed > 8
    assert loud == []


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _told(argument: ast.expr) -> list[ast.Constant]:
    """Constants that are printed as they stand: the argument, parts of an f-string, of a sum."""
    if isinstance(argument, ast.Constant):
        return [argument]
    if isinstance(argument, ast.JoinedStr):
        return [part for part in argument.values if isinstance(part, ast.Constant)]
    if isinstance(argument, ast.BinOp):
        return [*_told(argument.left), *_told(argument.right)]
    return []


def test_a_missing_language_is_refused() -> None:
    with pytest.raises(ValueError, match="both languages"):
        Text("only English", "")
    with pytest.raises(ValueError, match="different parameters"):
        Text("{a} is wrong", "{b} 不对")
