"""Compile symptom rows into probes: one pattern each, with the literals that rule it out early."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from npudoctor.symptoms.rows import ECODE, Rank, Symptom

# A vendor error code (EI0006, E30006) once every digit has become 0.
ECODE_KEY = re.compile(rb"(?<![A-Za-z0])E[EHIJKLZ]?0{4,5}(?!0)")

# Digits in a pattern that stand for any digit: quantifiers, ranges, back references.
_ANY_DIGIT = re.compile(r"\{\d+(?:,\d*)?\}|0-9|1-9|\\[1-9]|\(\?P=\w+\)|\(\?P<\w+>")


@dataclass(frozen=True)
class Probe:
    """One compiled pattern and the part it plays for its symptom.

    Attributes:
        symptom: index into the scanner's symptoms.
        role: `match`, `also` or `context`.
        position: index among the patterns of that role.
        need: literals one of which every matching line holds.
        ecode: a vendor error code in the line is enough to try it.
        exact: the pattern names digits, so lines that differ in digits differ for it.
        fallback: tried only where nothing else explains the line.
    """

    symptom: int
    role: str
    position: int
    regex: re.Pattern[str] = field(compare=False)
    need: tuple[bytes, ...] = field(compare=False)
    ecode: bool = field(compare=False, default=False)
    exact: bool = field(compare=False, default=False)
    fallback: bool = field(compare=False, default=False)


def compile_probes(symptoms: tuple[Symptom, ...]) -> tuple[Probe, ...]:
    """Every pattern of every symptom; those that only fall back come last, plain exceptions at the end."""
    probes = []
    for index, symptom in enumerate(symptoms):
        for position, pattern in enumerate(symptom.match):
            probes.append(_probe(index, "match", position, pattern, symptom.need, symptom))
        for role in ("also", "context"):
            for position, entry in enumerate(getattr(symptom, role)):
                probes.append(_probe(index, role, position, entry["match"], entry["need"], symptom))
    return tuple(sorted(probes, key=lambda p: (p.fallback, symptoms[p.symptom].rank is Rank.EXCEPTION)))


def _probe(
    symptom: int, role: str, position: int, pattern: str, need: Iterable[str], row: Symptom
) -> Probe:
    literals = tuple(n.encode() for n in need if n != ECODE)
    fallback = (row.fallback or row.rank is Rank.EXCEPTION) and role == "match"
    exact = fallback or bool(re.search(r"\d", _ANY_DIGIT.sub("", pattern)))
    return Probe(symptom, role, position, re.compile(pattern), literals, ECODE in need, exact, fallback)
