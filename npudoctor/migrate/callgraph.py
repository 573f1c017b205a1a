"""How hot a function is through the calls of other files, which imports are followed for.

A call `act(x)` of an imported function reaches the module that the import names, and no other one of
that name; a function of the module itself reaches nobody else. A method, or a name that a module passes
on (`from .agent import act` in an `__init__`), is known by its name alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Optional

from npudoctor.migrate.loops import Heat, callee_name, hotter
from npudoctor.migrate.names import FUNCTIONS

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.facts.sync_calls import SyncCalls
    from npudoctor.migrate.project import ProjectIndex

FACT = "sync_calls"
# Of the many calls of libraries those that every module makes; any other is no file of the project.
_LIBRARIES = frozenset({"builtins", "torch", "numpy", "math", "os", "time", "random"})
Function = tuple[Optional[str], str]  # path of its module, None where only the name is known


def called(ctx: ModuleContext, call: ast.Call) -> str | None:
    """What other files may read of a call: `act`, `agent:act` after an import; None for an own function."""
    name = callee_name(call)
    path = ctx.qualified_name(call.func)
    if path is not None and path.split(".")[0] in _LIBRARIES:
        return None
    if path is not None:
        module, _, last = path.rpartition(".")
        return f"{module or '.'}:{last}" if module or path.startswith(".") else None
    if isinstance(call.func, ast.Name):
        bindings = ctx.bindings(call.func)
        if bindings and all(
            isinstance(b.node, (*FUNCTIONS, ast.ClassDef)) and b.kind != "param" for b in bindings
        ):
            return None
    return name


def heat_for(project: ProjectIndex, path: str) -> dict[str, Heat]:
    """Name of each function or method that may stand in `path` -> heat of its hottest call site elsewhere."""
    found: dict[str, Heat] = {}
    for (module, name), heat in _heats(project).items():
        if module in (None, path):
            found[name] = hotter(found.get(name, Heat.ONCE), heat)
    return found


def _heats(project: ProjectIndex) -> dict[Function, Heat]:
    known: dict[Function, Heat] | None = project.__dict__.get("_heats")
    if known is None:
        known = project.__dict__["_heats"] = _Graph(project).heats()  # derived, not part of its value
    return known


class _Graph:
    """Functions of the project and what they call."""

    def __init__(self, project: ProjectIndex) -> None:
        self._summaries: dict[str, SyncCalls] = project.facts(FACT)
        self._named: dict[str, list[tuple[list[str], str]]] = {}  # last part of a name -> names, paths
        folders: set[str] = set()
        for path in project.modules:
            self._name(_parts(path), path)
            folders.update(path[:at] for at, character in enumerate(path) if character == "/")
        for folder in folders:  # also a package whose `__init__` says nothing of its own
            self._name(folder.split("/"), f"{folder}/__init__.py")

    def _name(self, parts: list[str], path: str) -> None:
        self._named.setdefault(parts[-1] if parts else "", []).append((parts, path))

    def heats(self) -> dict[Function, Heat]:
        """Every function that is hot by a call, calls followed to the end."""
        heat: dict[Function, Heat] = {}
        for path, summary in self._summaries.items():
            for key, value in summary.hot.items():
                for function in self._meant(path, key):
                    heat[function] = hotter(heat.get(function, Heat.ONCE), Heat(value))
        waiting = list(heat)
        while waiting:
            function = waiting.pop()
            for callee in self._callees(function):
                if heat[function].rank < heat.get(callee, Heat.ONCE).rank:
                    heat[callee] = heat[function]
                    waiting.append(callee)
        return heat

    def _callees(self, function: Function) -> Iterator[Function]:
        where, name = function
        for path in [where] if where is not None else [*self._summaries]:
            for key in self._summaries[path].calls.get(name, ()):
                yield from self._meant(path, key)

    def _meant(self, caller: str, key: str) -> list[Function]:
        """The functions that a call in `caller` may mean; none for those of libraries."""
        module, colon, name = key.rpartition(":")
        if not colon:
            return [(None, key)]
        paths = self._paths(caller, module)
        exact = [p for p in paths if p in self._summaries and name in self._summaries[p].functions]
        if exact:
            return [(path, name) for path in exact]
        known = paths or self._paths(caller, module.rpartition(".")[0] or module)
        return [(None, name)] if known else []  # passed on, or a method of an imported class

    def _paths(self, caller: str, module: str) -> list[str]:
        """Files of the project that an imported name may mean: one's dotted name ends with the other's."""
        level = len(module) - len(module.lstrip("."))
        wanted = [part for part in module.lstrip(".").split(".") if part]
        if level:
            folder = caller.split("/")[:-1]
            wanted = [*folder[: len(folder) - level + 1], *wanted]
        found = []
        for parts, path in self._named.get(wanted[-1] if wanted else "", ()):
            shorter = min(len(parts), len(wanted))
            if parts[len(parts) - shorter :] == wanted[len(wanted) - shorter :]:
                found.append(path)
        return found


def _parts(path: str) -> list[str]:
    """`a/b/agent.py` -> a, b, agent; `a/b/__init__.py` -> a, b."""
    parts = path.rsplit(".", 1)[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts
