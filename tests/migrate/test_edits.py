"""Edits: which fit together, how they are applied, and where a position was before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.migrate.api import Change, Edit
from npudoctor.migrate.edits import OffsetMap, apply, choose


def changes(*edits: Edit) -> list[Change]:
    return [Change(e.start, e.end, edits=(e,)) for e in edits]


def test_apply_and_refuse_overlap() -> None:
    assert apply("abcdef", [Edit(4, 5, "E"), Edit(1, 3, "-")]) == "a-dEf"
    assert apply("ab", [Edit(1, 1, "x"), Edit(1, 1, "x")]) == "axb"
    with pytest.raises(ValueError, match="overlap"):
        apply("abcdef", [Edit(0, 3, ""), Edit(2, 4, "")])


def test_the_first_of_two_overlapping_changes_is_chosen() -> None:
    first, second, third = changes(Edit(0, 3, "x"), Edit(2, 5, "y"), Edit(6, 7, "z"))
    assert choose([second, third, first]) == [first, third]


def test_a_group_is_taken_whole_or_not_at_all() -> None:
    early = Change(0, 3, edits=(Edit(0, 3, "x"),))
    part_a = Change(2, 4, edits=(Edit(2, 4, "y", "g"),))
    part_b = Change(8, 9, edits=(Edit(8, 9, "z", "g"),))
    assert choose([early, part_a, part_b]) == [early]
    assert choose([part_a, part_b]) == [part_a, part_b]


def test_identical_insertions_of_two_changes_count_once() -> None:
    same = changes(Edit(0, 0, "import x\n"), Edit(0, 0, "import x\n"))
    chosen = choose(same)
    assert len(chosen) == 2
    assert apply("y", [e for c in chosen for e in c.edits]) == "import x\ny"


@st.composite
def rounds(draw: st.DrawFn) -> tuple[str, list[list[Edit]]]:
    text = draw(st.text("abcdefgh", min_size=4, max_size=30))
    current, result = text, []
    for _ in range(draw(st.integers(1, 3))):
        points = sorted(set(draw(st.lists(st.integers(0, len(current)), max_size=6))))
        pairs = [(a, b) for a, b in zip(points[::2], points[1::2])]
        edits = [Edit(a, b, draw(st.text("XYZ", max_size=4))) for a, b in pairs]
        result.append(edits)
        current = apply(current, edits)
    return text, result


@settings(deadline=None, max_examples=200)
@given(rounds())
def test_untouched_characters_keep_their_identity_through_the_map(case: tuple[str, list[list[Edit]]]) -> None:
    text, all_rounds = case
    offsets, current = OffsetMap(), text
    for edits in all_rounds:
        offsets.add(edits)
        current = apply(current, edits)
    for position, character in enumerate(current):
        if character.islower():  # was never written by an edit
            assert text[offsets.back(position)] == character
            assert offsets.forward(offsets.back(position)) == position
