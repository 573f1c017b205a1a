"""What a unit (check, rule, stage, bound) says, taken from the texts of its own module."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import cleandoc
from types import ModuleType

from npudoctor.core.finding import Fix
from npudoctor.core.text import Text, verbatim

_FIELD = re.compile(r"\{(\w+)[^{}]*\}")


@enum.unique
class Part(enum.Enum):
    """What a text of a unit is for, told by the end of its name: `OLD_CHIP_CAUSE`, `TITLE`."""

    SAYS = "says"  # what the unit found: TITLE, or PASSED
    CAUSE = "cause"
    FIX = "fix"
    REASON = "reason"  # why the unit did not judge


_ENDS = {
    "TITLE": Part.SAYS,
    "TITLES": Part.SAYS,
    "PASSED": Part.SAYS,
    "CAUSE": Part.CAUSE,
    "CAUSES": Part.CAUSE,
    "FIX": Part.FIX,
    "FIXES": Part.FIX,
    "REASON": Part.REASON,
}
_PIECE = "WORDS"  # fills a parameter of another text


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
    """Every text of the module in the order in which it is written; parameters show as `<name>`.

    Raises:
        ValueError: the name of a text does not end as `part_of` knows.
    """
    unit = unit_of(module)
    message = getattr(unit, "message", None)
    found: dict[Text, Part] = {} if message is None else {message.title: Part.SAYS}
    for name, thing in vars(module).items():
        if isinstance(thing, Text):
            part = part_of(name)
            if part is not None:
                found.setdefault(thing, part)
        elif isinstance(thing, Mapping) and message is not None and name.endswith("TITLE"):
            continue  # they only vary the title of the message: in this loop, in that one
        elif not name.startswith("__") and not callable(thing):
            _take(thing, _ENDS.get(_end(name)), found, title=thing is not unit)
    return [(part, bare(text)) for text, part in found.items()]


def part_of(name: str) -> Part | None:
    """What a text of this name is for; None where it only fills a parameter of another.

    Raises:
        ValueError: the name does not tell.
    """
    end = _end(name)
    if end not in _ENDS and end != _PIECE:
        raise ValueError(f"the name of {name} ends in none of {', '.join(_ENDS)}, {_PIECE}")
    return _ENDS.get(end)


def _end(name: str) -> str:
    return name.rpartition("_")[2]


def _take(thing: object, part: Part | None, found: dict[Text, Part], *, title: bool = True) -> None:
    """The texts of messages, fixes and collections of them; the title of a unit stands above its page."""
    if isinstance(thing, Text):
        if part is not None:
            found.setdefault(thing, part)
        return
    if isinstance(thing, Fix):
        found.setdefault(thing.note, Part.FIX)
        return
    for name, own in (("title", Part.SAYS), ("cause", Part.CAUSE), ("fix", Part.FIX)):
        text = getattr(thing, name, None)
        if isinstance(text, Text) and (title or own is not Part.SAYS):
            found.setdefault(text, own)
    if isinstance(thing, Mapping):  # of texts by some key, or a table of another room
        thing = tuple(thing.values())
    elif not isinstance(thing, (tuple, list)):
        thing = (getattr(thing, "message", ()), *getattr(thing, "fixes", ()))
    for inner in thing:
        if inner != ():
            _take(inner, part, found)


_ABOUT_ZH = "以下是它会报告的问题、原因与修复方法"


def about(module: ModuleType) -> Text:
    """The module's own description; in Chinese what stands below, for descriptions are in English."""
    english = cleandoc(module.__doc__ or "").replace("\n\n", "\n")
    title = getattr(unit_of(module), "title", None)
    return verbatim(english, f"{bare(title).zh}。{_ABOUT_ZH}" if isinstance(title, Text) else _ABOUT_ZH)


def bare(text: Text) -> Text:
    """The text without values: `{names}` becomes `<names>`."""
    return verbatim(*(_FIELD.sub(r"<\1>", words) for words in (text.en, text.zh)))
