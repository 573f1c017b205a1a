"""Everything the sync rules know about one module, computed once and shared by them."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING

from npudoctor.migrate.facts.sync_calls import heat_by_name
from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.loops import Loops
from npudoctor.migrate.sync.drain import Drain, Drains
from npudoctor.migrate.sync.forms import ScalarRead
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# Values that environments and NumPy hand out on the host.
_HOST_WORDS = re.compile(r"\bnp\.|numpy|info|\['?[a-z]'?\]|\bdones?\b|\breward|\baction_space|\bobservation_space")


class Analysis:
    """Loops, values, and the proofs and refusals of one module."""

    def __init__(self, ctx: ModuleContext) -> None:
        self.ctx = ctx
        self.loops = Loops(ctx, heat_by_name(ctx.project))
        self.values = Values(ctx)

    @functools.cached_property
    def drains(self) -> list[Drain]:
        """Reads collected in a loop and used after it."""
        return Drains(self.ctx, self.loops, self.values).find()

    def may_be_tensor(self, read: ScalarRead) -> bool:
        """Whether a scalar read could touch the device: not proved, but nothing speaks against it.

        NumPy values have `.item()` too; `float()` and its kin take anything.
        """
        if self.values.of(read.value).tensor:
            return True
        if read.form != "item" or not self.ctx.imports_torch:
            return False
        if self.ctx.kind(read.value) not in (Kind.UNKNOWN, Kind.TENSOR):
            return False
        text = ast.unparse(read.value)
        return not _HOST_WORDS.search(text)


def analyse(ctx: ModuleContext) -> Analysis:
    """The analysis of `ctx`, made once per context."""
    known: Analysis | None = ctx.__dict__.get("_sync_analysis")
    if known is None:
        known = ctx.__dict__["_sync_analysis"] = Analysis(ctx)
    return known
