"""Compare two programs' numbers, leaving out what the first program does not repeat itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?!\w)|\bnan\b|\binf\b")
CLOCK = re.compile(r"\d{4}-\d\d-\d\d|\b\d+:\d\d:\d\d(?:\.\d+)?")  # a date or a time of day is no result
# A line that names the device it runs on may differ; its words are not compared.
A_DEVICE = "a device"
DEVICE = re.compile(r"(?i)device|cuda|gpu|npu|ascend|nvidia")


@dataclass(frozen=True)
class Difference:
    """One value that disagrees: what it is, the original's value, the migrated program's value."""

    kind: str
    name: str
    original: str
    migrated: str


@dataclass(frozen=True)
class Comparison:
    """Outcome for one kind of value."""

    compared: int
    noisy: int
    differences: tuple[Difference, ...]


def compare_lines(
    first: Sequence[str], again: Sequence[str], other: Sequence[str], speed: re.Pattern[str]
) -> Comparison:
    """Numbers of the printed lines. Lines that name a speed or a time are left out."""
    mine, second, theirs = (
        [_split(line) for line in lines if not speed.search(line)] for lines in (first, again, other)
    )
    if _devices(mine) != _devices(theirs):  # said on one device only, such as the name of a card
        mine, second, theirs = ([line for line in lines if line[0] != A_DEVICE]
                                for lines in (mine, second, theirs))
    noisy = _unstable(mine, second)
    differences = []
    compared = 0
    if [words for words, _ in mine] != [words for words, _ in theirs]:
        unlike = (i for i, (a, b) in enumerate(zip(mine, theirs)) if a[0] != b[0])
        place = next(unlike, min(len(mine), len(theirs)))
        if [words for words, _ in mine] == [words for words, _ in second]:
            name = f"line {place + 1}"
            differences.append(Difference("printed", name, _at(first, place), _at(other, place)))
    for place, ((_, numbers), (_, others)) in enumerate(zip(mine, theirs)):
        for position, (a, b) in enumerate(zip(numbers, others)):
            if (place, position) in noisy or ("line", place) in noisy:
                continue
            compared += 1
            if a != b:
                differences.append(Difference("printed", f"line {place + 1}", a, b))
    return Comparison(compared, len(noisy), tuple(differences))


def _devices(lines: list[tuple[str, tuple[str, ...]]]) -> int:
    return sum(words == A_DEVICE for words, _ in lines)


def _split(line: str) -> tuple[str, tuple[str, ...]]:
    """The line with its numbers blanked, and the numbers."""
    without_device = re.sub(r"\b(cuda|npu)(:\d+)?\b", "cpu", CLOCK.sub("a clock", line))
    words = A_DEVICE if DEVICE.search(line) else NUMBER.sub("#", without_device)
    return words, tuple(NUMBER.findall(without_device))


def _unstable(mine: Any, second: Any) -> set[Any]:
    noisy: set[Any] = set()
    for place, ((words, numbers), (other_words, others)) in enumerate(zip(mine, second)):
        if words != other_words:
            noisy.add(("line", place))
        noisy.update((place, i) for i, (a, b) in enumerate(zip(numbers, others)) if a != b)
    return noisy


def _at(lines: Sequence[str], place: int) -> str:
    return lines[place] if place < len(lines) else ""


def compare_scalars(first: Sequence[Any], again: Sequence[Any], other: Sequence[Any]) -> Comparison:
    """Scalars that were logged: same tags in the same order, same values."""
    tags = [(s[0], s[2]) for s in first]
    if tags != [(s[0], s[2]) for s in other]:
        return Comparison(0, 0, (Difference("logged", "tags and steps", f"{len(first)}", f"{len(other)}"),))
    noisy = {i for i, (a, b) in enumerate(zip(first, again)) if a[1] != b[1]}
    differences = [
        Difference("logged", f"{a[0]} at step {a[2]}", a[1], b[1])
        for i, (a, b) in enumerate(zip(first, other)) if i not in noisy and a[1] != b[1]
    ]
    return Comparison(len(first) - len(noisy), len(noisy), tuple(differences))


def compare_weights(first: dict[str, Any], again: dict[str, Any], other: dict[str, Any]) -> Comparison:
    """Final parameters, bit for bit; a difference names the largest gap."""
    if sorted(first) != sorted(other):
        return Comparison(0, 0, (Difference("weights", "parameters", str(len(first)), str(len(other))),))
    differences, noisy = [], 0
    for name, mine in first.items():
        if mine.tobytes() != again[name].tobytes():
            noisy += 1
        elif mine.shape != other[name].shape:
            differences.append(Difference("weights", name, str(mine.shape), str(other[name].shape)))
        elif mine.tobytes() != other[name].tobytes():
            gap = abs(mine.astype("float64") - other[name].astype("float64")).max()
            differences.append(Difference("weights", name, "", f"largest difference {gap:.3g}"))
    return Comparison(len(first) - noisy, noisy, tuple(differences))
