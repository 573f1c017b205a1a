"""Set arithmetic on intervals: unions, complements, overlaps. All arrays are (n, 2) float64, in us."""

from __future__ import annotations

import numpy as np

EMPTY = np.zeros((0, 2))


def union(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Disjoint, sorted intervals that cover the same points; empty intervals vanish."""
    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return EMPTY
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    first = np.flatnonzero(opens)
    last = np.concatenate((first[1:] - 1, [len(start) - 1]))
    return np.stack((start[first], reach[last]), axis=1)


def complement(covered: np.ndarray, begin: float, stop: float) -> np.ndarray:
    """What of [begin, stop] the disjoint, sorted `covered` leaves free."""
    inside = clip(covered, begin, stop)
    starts = np.concatenate(([begin], inside[:, 1]))
    ends = np.concatenate((inside[:, 0], [stop]))
    keep = ends > starts
    return np.stack((starts[keep], ends[keep]), axis=1)


def clip(intervals: np.ndarray, begin: float, stop: float) -> np.ndarray:
    """The parts of the intervals inside [begin, stop]."""
    cut = np.clip(intervals, begin, stop)
    return cut[cut[:, 1] > cut[:, 0]]


def subtract(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Points of `left` that are not in `right`; both disjoint and sorted."""
    if not len(left):
        return EMPTY
    return intersect(left, complement(right, float(left[0, 0]), float(left[-1, 1])))


def intersect(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Points in both; both disjoint and sorted. O(n log n)."""
    if not len(left) or not len(right):
        return EMPTY
    points = np.concatenate((left[:, 0], left[:, 1], right[:, 0], right[:, 1]))
    steps = np.repeat([1, -1, 1, -1], [len(left), len(left), len(right), len(right)])
    order = np.lexsort((steps, points))  # at one point, close before open: touching is not overlap
    depth = np.cumsum(steps[order])
    inside = np.flatnonzero(depth[:-1] == 2)
    points = points[order]
    result = np.stack((points[inside], points[inside + 1]), axis=1)
    return result[result[:, 1] > result[:, 0]]


def total(intervals: np.ndarray) -> float:
    """Summed length."""
    return float((intervals[:, 1] - intervals[:, 0]).sum()) if len(intervals) else 0.0


def overlap_of_each(queries: np.ndarray, covered: np.ndarray) -> np.ndarray:
    """(n,) how much of each query interval lies in the disjoint, sorted `covered`."""
    if not len(queries) or not len(covered):
        return np.zeros(len(queries))
    return _covered_until(covered, queries[:, 1]) - _covered_until(covered, queries[:, 0])


def _covered_until(covered: np.ndarray, points: np.ndarray) -> np.ndarray:
    lengths = covered[:, 1] - covered[:, 0]
    before = np.concatenate(([0.0], np.cumsum(lengths)))
    index = np.searchsorted(covered[:, 0], points, side="right")
    partial = np.zeros(len(points))
    some = index > 0
    last = covered[index[some] - 1]
    partial[some] = np.minimum(points[some], last[:, 1]) - last[:, 0]
    return before[np.maximum(index - 1, 0)] * some + partial
