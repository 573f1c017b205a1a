"""Classes of the module itself that are no tensors but have methods named like a tensor's."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from npudoctor.migrate.names import FUNCTIONS

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# The body hands on to torch: what it returns is torch's.
_TORCH = re.compile(r"\b(torch|th|nn|F|distributions?)\.|\.log_prob\(|\bsuper\(")
_NUMPY = re.compile(r"\b(np|numpy|math|scipy)\.|(?<![.\w])float\(")


def lookalikes(ctx: ModuleContext) -> frozenset[str]:
    """Method names that prove no tensor, because a plain class of the project defines them too.

    Of other modules only `log_prob` and `backward` count: what is known by name alone.

    A NumPy policy has `log_prob`, a small autograd engine `backward`; both may stand in a file
    that imports torch for something else.
    """
    project = ctx.project
    known: frozenset[str] | None = project.__dict__.get("_lookalikes")
    if known is None:
        facts = project.facts("sync_calls").values()
        known = frozenset(name for fact in facts for name in fact.lookalikes)
        project.__dict__["_lookalikes"] = known  # derived, not part of its value
    return own_lookalikes(ctx) | known


def own_lookalikes(ctx: ModuleContext, among: Collection[str] | None = None) -> frozenset[str]:
    """Those that this module defines; of the names `among` only, if given."""
    found = set()
    for owner in ctx.nodes(ast.ClassDef):
        torchy = any(_torch_base(ctx, base) for base in owner.bases)
        for method in owner.body:
            if isinstance(method, FUNCTIONS) and not isinstance(method, ast.Lambda):
                if among is not None and method.name not in among:
                    continue
                text = ctx.text(method)
                if not _TORCH.search(text) and (not torchy or _NUMPY.search(text)):
                    found.add(method.name)
    return frozenset(found)


def _torch_base(ctx: ModuleContext, base: ast.expr) -> bool:
    """A base from torch, or from another module: then nothing is known against it."""
    path = ctx.qualified_name(base)
    plain = ("abc.ABC", "typing.Protocol")
    return path is not None and not path.startswith("builtins.") and path not in plain
