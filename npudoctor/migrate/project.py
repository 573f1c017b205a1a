"""Facts about all modules of a project, collected before any rule runs.

`collect_facts` looks at one module and is pure, so files can be summarised in parallel;
`ProjectIndex` puts the summaries side by side.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


#: Fact without a parse: the text imports torch.
TORCH = "torch"
_TORCH_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b", re.M)


@dataclass(frozen=True)
class Fact:
    """One kind of fact.

    Attributes:
        name: key in `ProjectIndex.facts`.
        triggers: literals; a file with none of them has no such fact and is not parsed for it.
        summarise: the fact of one module, frozen and picklable; None for nothing to say.
    """

    name: str
    triggers: tuple[str, ...]
    summarise: Callable[[ModuleContext], Any]


@dataclass(frozen=True)
class ProjectIndex:
    """Path of each module -> name of the fact -> the fact.

    Attributes:
        modules: as returned by `collect_facts` for each Python file or notebook.
        config: path of a configuration file -> facts found there, in the same form.
    """

    modules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    config: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @functools.cached_property
    def uses_torch(self) -> bool:
        """Whether any module of the project imports torch."""
        return any(TORCH in facts for facts in self.modules.values())

    def facts(self, name: str) -> dict[str, Any]:
        """Path -> fact, for every file that has one of this name, configuration included."""
        both = {**self.modules, **self.config}
        return {path: facts[name] for path, facts in both.items() if name in facts}


@functools.cache
def all_facts() -> tuple[Fact, ...]:
    """Every `FACT` of `npudoctor.migrate.facts`."""
    from npudoctor.core.registry import unit_modules
    from npudoctor.migrate import facts

    return tuple(module.FACT for module in unit_modules(facts))


def collect_facts(text: str, path: str) -> dict[str, Any]:
    """Facts of one module; empty for a file that no fact could come from or that does not parse."""
    found: dict[str, Any] = {TORCH: True} if _TORCH_IMPORT.search(text) else {}
    wanted = [f for f in all_facts() if any(t in text for t in f.triggers)]
    if not wanted:
        return found
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.parsed import keep

    try:
        ctx = ModuleContext(text, path)
        found.update({f.name: f.summarise(ctx) for f in wanted})
        ctx.memo.clear()  # what points back at the context
        keep(ctx.syntax)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    return {name: fact for name, fact in found.items() if fact is not None}
