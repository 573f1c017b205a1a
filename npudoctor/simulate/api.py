"""What a rule of the simulation is: a pure function from numbers to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from npudoctor.core.finding import Evidence, Finding, Fix, Place, Severity
from npudoctor.core.text import Text, filled

__all__ = ["Evidence", "Finding", "Fix", "Place", "Rule", "Severity", "Text", "filled"]


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        code, slug: stable names; the module is called after them.
        subject: `run` (gets the summary of a run and its outcome) or `verify` (gets the verification).
        run: yields findings; touches nothing.
    """

    code: str
    slug: str
    subject: str
    run: Callable[..., Iterable[Finding]]
