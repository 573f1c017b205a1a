"""A short run of benchmarks/fuzz_migrate.py: broken input of every kind."""

from __future__ import annotations

import random

import pytest

from benchmarks import fuzz_migrate


@pytest.mark.parametrize("seed", range(4))
def test_broken_input(seed: int) -> None:
    rng = random.Random(seed)
    pool = fuzz_migrate.seeds()
    cases = [(path, fuzz_migrate.mutate(rng, data, pool)) for path, data in rng.choices(pool, k=150)]
    kinds = {fuzz_migrate.one(path, data) for path, data in cases}
    assert len(kinds) > 5


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("environment.yml", b"dependencies:\n  - pytorch=1.11\n  - \t\t\n    -p:\n"),
        ("launch.sh", b'export CUDA_V"ISIBLE_DEVICES=0\nCUDA_VISIBLE_DEVICES=1 python train.py\necho "x'),
    ],
)
def test_input_that_once_broke_something(path: str, data: bytes) -> None:
    fuzz_migrate.one(path, data)
