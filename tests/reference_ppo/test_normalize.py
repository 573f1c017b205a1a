"""The observation statistics: exact, merged in parts, frozen when asked for nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from reference_ppo.normalize import Normalizer


def feed(norm: Normalizer, x: np.ndarray) -> None:
    norm.merge(float(len(x)), x.mean(0), x.var(0) * len(x))


def test_merging_parts_equals_the_whole() -> None:
    x = np.random.default_rng(0).normal(5, 3, (1000, 4))
    whole, parts = Normalizer(4), Normalizer(4)
    feed(whole, x)
    for part in np.array_split(x, [10, 500, 501]):
        feed(parts, part)
    assert parts.mean == pytest.approx(x.mean(0))
    assert parts.m2 / parts.count == pytest.approx(x.var(0))
    assert parts.mean == pytest.approx(whole.mean)


def test_standardises_and_clips() -> None:
    x = np.random.default_rng(0).normal(5, 3, (1000, 2))
    norm = Normalizer(2)
    feed(norm, x)
    y = norm(x.astype(np.float32))
    assert y.mean(0) == pytest.approx(0, abs=1e-3)
    assert y.std(0) == pytest.approx(1, abs=1e-3)
    assert norm(np.array([[1e6, 5]], np.float32))[0, 0] == 10


def test_a_constant_dimension_does_not_explode() -> None:
    norm = Normalizer(1)
    feed(norm, np.full((10, 1), 3.0))
    assert norm(np.array([[3.0]], np.float32)) == pytest.approx(0, abs=1e-3)


def test_calling_never_moves_the_statistics() -> None:
    norm = Normalizer(1)
    feed(norm, np.random.default_rng(0).normal(size=(100, 1)))
    before = norm.state()
    norm(np.full((1000, 1), 50, np.float32))
    assert norm.state() == before


def test_disabled_passes_through() -> None:
    norm = Normalizer(2, enabled=False)
    feed(norm, np.random.default_rng(0).normal(9, 9, (50, 2)))
    x = np.array([[123.0, -7.0]], np.float32)
    assert np.array_equal(norm(x), x)
