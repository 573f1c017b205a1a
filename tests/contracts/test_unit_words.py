"""`explain NPUxxx`: what is called a cause is one, and a fix is one, in every unit of every room."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from npudoctor.commands.explain import _UNITS
from npudoctor.core.unit_words import Part, code_of, part_of, words
from tests.conftest import RunCli

# Calls that take texts, and what each place of their arguments is.
PLACES = {
    "Fix": {0: Part.FIX},
    "Skip": {0: Part.REASON},
    "found": {1: Part.SAYS, 2: Part.CAUSE},
    "Finding": {3: Part.SAYS, 4: Part.CAUSE},
    "Message": {0: Part.SAYS, 1: Part.CAUSE, 2: Part.FIX},
    "passed": {0: Part.SAYS},
    "misused_variables": {3: Part.SAYS, 4: Part.CAUSE, 5: Part.FIX},
}


def units() -> list[ModuleType]:
    found = []
    for package in _UNITS:
        folder = importlib.import_module(package).__path__
        names = sorted(m.name for m in pkgutil.iter_modules(folder) if m.name.startswith("npu"))
        found += [importlib.import_module(f"{package}.{name}") for name in names]
    return found


UNITS = units()


def used(tree: ast.Module) -> Iterator[tuple[str, Part]]:
    """(name of a text, what the code uses it for)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            for place, part in PLACES.get(name, {}).items():
                if place < len(node.args):
                    yield from ((n.id, part) for n in _leaves(node.args[place]))


def _leaves(node: ast.expr) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.IfExp):
        yield from _leaves(node.body)
        yield from _leaves(node.orelse)


@pytest.mark.parametrize("module", UNITS, ids=code_of)
def test_a_text_is_named_after_its_use(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for name, part in used(tree):
        if name.isupper():  # others are chosen at run time
            assert part_of(name) is part, f"{module.__name__}: {name} is used as {part.value}"


@pytest.mark.parametrize("module", UNITS, ids=code_of)
def test_every_unit_has_words(module: ModuleType) -> None:
    parts = {part for part, _ in words(module)}
    # The stage that compares operators leaves its words to the judge.
    assert parts & {Part.CAUSE, Part.SAYS} or code_of(module) == "NPU303"


def test_texts_inside_collections_are_found(run_cli: RunCli) -> None:
    done = run_cli("explain", "NPU074")
    assert "cause: NNAL (ATB) is of another release" in done.stdout
    assert "fix: install torch and torch_npu as a pair" in done.stdout
    assert "not judged: " in run_cli("explain", "NPU010").stdout


def test_an_unknown_ending_is_a_fault() -> None:
    with pytest.raises(ValueError, match="ends in none of"):
        part_of("SOMETHING_ELSE")
