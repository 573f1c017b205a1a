"""Interval arithmetic against sets of integer points."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from npudoctor.profile import intervals  # noqa: E402

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=12)


def as_union(pairs):
    array = np.array([(a, a + d) for a, d in pairs], float).reshape(-1, 2)
    return intervals.union(array[:, 0], array[:, 1])


def points(array):
    return {p for a, b in array for p in range(int(a), int(b))}


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(spans, spans)
def test_set_operations(left, right) -> None:
    a, b = as_union(left), as_union(right)
    assert points(a) == {p for s, d in left for p in range(s, s + d)}
    assert points(intervals.intersect(a, b)) == points(a) & points(b)
    assert points(intervals.subtract(a, b)) == points(a) - points(b)
    assert points(intervals.complement(a, 5, 50)) == set(range(5, 50)) - points(a)
    assert intervals.total(a) == len(points(a))


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(spans, spans)
def test_overlap_of_each(left, right) -> None:
    covered = as_union(right)
    queries = np.array([(a, a + d) for a, d in left], float).reshape(-1, 2)
    got = intervals.overlap_of_each(queries, covered)
    assert got.tolist() == [len(set(range(int(a), int(b))) & points(covered)) for a, b in queries]
