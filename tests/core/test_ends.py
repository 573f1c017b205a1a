"""The common beginning and end of two sequences, each item counted once."""

from __future__ import annotations

import pytest

from npudoctor.core.ends import equal_ends


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("", "", (0, 0)),
        ("", "ab", (0, 0)),
        ("ab", "ab", (2, 0)),
        ("abc", "axc", (1, 1)),
        ("aa", "aaa", (2, 0)),
        ("abab", "ab", (2, 0)),
        ("xab", "ab", (0, 2)),
        ([b"1\n", b"2\n"], [b"0\n", b"2\n"], (0, 1)),
    ],
)
def test_ends(old: list[bytes] | str, new: list[bytes] | str, ends: tuple[int, int]) -> None:
    assert equal_ends(old, new) == ends
