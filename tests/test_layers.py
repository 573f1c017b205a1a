"""The arrows of docs/architecture.md: who may import whom, read from the sources with `ast`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGINES = {
    "check", "container", "export", "fleet", "migrate", "profile", "simulate", "smoke_test", "symptoms",
}
BASE = {"core", "atomic", "version"}
FACTS = BASE | {"tables", "machine", "pairing"}

# room -> rooms of npudoctor it may import. A room may always import itself.
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "version": set(),
    "atomic": {"core"},
    "config": BASE,
    "session": BASE | {"report"},
    "tables": BASE,
    "data": set(),
    "machine": BASE | {"tables"},
    "pairing": BASE | {"tables", "machine"},
    "check": FACTS | {"symptoms"},
    "container": FACTS,
    "fleet": FACTS | {"check"},
    "symptoms": BASE | {"tables"},
    "migrate": BASE | {"tables", "config", "pairing"},
    "simulate": BASE | {"tables"},
    "smoke_test": FACTS | {"check", "export", "symptoms", "simulate"},
    "profile": BASE | {"tables", "simulate"},
    "export": FACTS,
    "report": BASE | {"session", "state", "journey"},
    "commands": FACTS | ENGINES | {"state", "config", "session", "report"},
    "cli": BASE | {"commands", "session", "report"},
    "state": BASE,
    "journey": BASE | {"state"},
    "dev": FACTS | ENGINES | {"config", "session", "report", "cli", "commands"},
    "__init__": {"version"},
    "__main__": {"cli"},
}


def sources() -> list[Path]:
    return sorted((ROOT / "npudoctor").rglob("*.py"))


def room_of(path: Path) -> str:
    relative = path.relative_to(ROOT / "npudoctor")
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "npudoctor":
                names = [f"npudoctor.{alias.name}" for alias in node.names if alias.name != "__version__"]
        for name in names:
            parts = name.split(".")
            if parts[0] == "npudoctor" and len(parts) > 1:
                rooms.add(parts[1])
    return rooms


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_arrows(path: Path) -> None:
    room = room_of(path)
    assert room in ALLOWED, f"new room {room}: add it to the table here and to docs/architecture.md"
    forbidden = imported_rooms(path) - ALLOWED[room] - {room}
    assert not forbidden, f"{room} must not import {sorted(forbidden)}"


def test_reference_ppo_stands_alone() -> None:
    for path in (ROOT / "reference_ppo").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                assert not any(n.split(".")[0] == "npudoctor" for n in names), path
