"""What a unit (check, rule, stage, bound) says, taken from the texts of its own module."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from inspect import cleandoc
from types import ModuleType

from npudoctor.core.text import Text, verbatim

_FIELD = re.compile(r"\{(\w+)[^{}]*\}")


@enum.unique
class Part(enum.Enum):
    """What a text of a unit is for, told by the end of its name."""

    SAYS = "says"
    CAUSE = "cause"
    FIX = "fix"


@dataclass(frozen=True)
class Said:
    """What a command says under a code that has no unit module of its own.

    Attributes:
        slug: the fault, kebab-case.
        texts: everything that may be said, each with what it is for.
        sources: addresses.
    """

    slug: str
    texts: tuple[tuple[Part, Text], ...]
    sources: tuple[str, ...] = ()


def code_of(module: ModuleType) -> str:
    """`NPU012` of the module `npu012_device_nodes_not_mapped`."""
    return module.__name__.rpartition(".")[2].split("_")[0].upper()


def unit_of(module: ModuleType) -> object:
    """The unit that the module exposes, or the module itself."""
    return next((u for u in vars(module).values() if getattr(u, "code", None) == code_of(module)), module)


def words(module: ModuleType) -> list[tuple[Part, Text]]:
    """Every text of the module in the order in which it is written; parameters show as `<name>`."""
    found: dict[Text, Part] = {}
    for name, text in vars(module).items():
        if isinstance(text, Text):
            found.setdefault(text, _part(name))
    unit = unit_of(module)
    for part, name in ((Part.SAYS, "title"), (Part.CAUSE, "cause"), (Part.FIX, "fix")):
        # The title of a unit without messages says what is looked at, and stands above the page.
        text = getattr(getattr(unit, "message", None), name, None) or (
            getattr(unit, name, None) if part is not Part.SAYS else None
        )
        if isinstance(text, Text):
            found.setdefault(text, part)
    for fix in getattr(unit, "fixes", ()):
        found.setdefault(fix.note, Part.FIX)
    return [(part, bare(text)) for text, part in found.items()]


_ABOUT_ZH = "以下是它会报告的问题、原因与修复方法"


def about(module: ModuleType) -> Text:
    """The module's own description; in Chinese what stands below, for descriptions are in English."""
    english = cleandoc(module.__doc__ or "").replace("\n\n", "\n")
    title = getattr(unit_of(module), "title", None)
    return verbatim(english, f"{bare(title).zh}。{_ABOUT_ZH}" if isinstance(title, Text) else _ABOUT_ZH)


def _part(name: str) -> Part:
    return Part.CAUSE if name.endswith("CAUSE") else Part.FIX if name.endswith("FIX") else Part.SAYS


def bare(text: Text) -> Text:
    """The text without values: `{names}` becomes `<names>`."""
    return verbatim(*(_FIELD.sub(r"<\1>", words) for words in (text.en, text.zh)))
