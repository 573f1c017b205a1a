"""From an observation to a leaf of the facts tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npudoctor.machine.facts import Absent, Denied, Known, Leaf, NotRecorded, TimedOut, Unknown, Unparsed
from npudoctor.machine.host import ABSENT_ERRORS, DENIED_ERRORS, NOT_RECORDED, TIMEOUT, Observation


def leaf_of(seen: Observation, parse: Callable[[Any], Any] = lambda data: data, place: str = "") -> Leaf[Any]:
    """The observation as a leaf; `parse` turns data into a value, or None when it makes no sense of it."""
    place = place or seen.target
    if not seen.ok:
        return failed(seen, place)
    parsed = parse(seen.data)
    if parsed is None:
        return Unparsed(place, str(seen.data)[:200])
    return Known(parsed, place)


def failed(seen: Observation, place: str = "") -> Leaf[Any]:
    """The leaf of an observation that has an error."""
    place = place or seen.target
    if seen.error in ABSENT_ERRORS:
        return Absent(place)
    if seen.error == NOT_RECORDED:
        return NotRecorded(place, NOT_RECORDED)
    if seen.error == TIMEOUT:
        return TimedOut(place, TIMEOUT)
    if seen.error in DENIED_ERRORS:
        return Denied(place, seen.error)
    return Unknown(place, seen.error)
