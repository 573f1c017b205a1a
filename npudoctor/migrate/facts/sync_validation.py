"""Fact `sync_validation`: who builds validating distributions, and who can check once per update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npudoctor.migrate.loops import loops_of
from npudoctor.migrate.project import Fact
from npudoctor.migrate.sync.validation import (
    constructions,
    has_own_validation_off,
    is_test_path,
    places,
)

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext


@dataclass(frozen=True)
class SyncValidation:
    """What one module has to do with validation of distributions.

    Attributes:
        constructions: constructions that validate their arguments and could stop doing so.
        places: update loops after which one finite check can stand, or already stands.
        off: the module turns validation off for the whole process.
        uncovered: the module differentiates a loss, but no finite check can stand or stands in it.
    """

    constructions: int
    places: int
    off: bool
    uncovered: bool = False


def summarise(ctx: ModuleContext) -> SyncValidation | None:
    """The counts of one module; None for tests and when there is nothing to count."""
    if is_test_path(ctx.path):
        return None
    learns = "backward(" in ctx.source
    built = sum(not c.guarded for c in constructions(ctx)) if "distributions" in ctx.source else 0
    where = len(places(ctx, loops_of(ctx))) if learns else 0
    if learns and "isfinite(" in ctx.source:
        where = max(where, 1)
    off = has_own_validation_off(ctx)
    return SyncValidation(built, where, off, learns and not where) if built or learns or off else None


FACT = Fact("sync_validation", ("torch.distributions", "backward(", "set_default_validate_args"), summarise)
