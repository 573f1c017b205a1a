"""What a rule about the conversion to OM is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from npudoctor.core.finding import Finding
from npudoctor.core.registry import collect
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph


@dataclass(frozen=True)
class Rule:
    """A pure function over the facts of a graph.

    Attributes:
        code: `NPU61x`.
        slug: the fault, kebab-case.
        title: the fault in one line, for the list of what was checked.
    """

    code: str
    slug: str
    title: Text
    run: Callable[[Graph], Iterable[Finding]]


def all_rules() -> dict[str, Rule]:
    """Every rule by code."""
    from npudoctor.export import rules

    return collect(rules, "RULE", "npu")
