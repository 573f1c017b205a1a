"""Run an OM through ais_bench, the Python face of the ACL runtime, where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from npudoctor.export.verify import Call

RUNTIME = "ais_bench"


def available() -> bool:
    """Whether an ACL runtime for Python is here."""
    return importlib.util.find_spec(RUNTIME) is not None


def caller(path: Path, batch: int) -> Call:
    """The OM as a function of NumPy rows; a short block is filled up with its last row."""
    interface = importlib.import_module("ais_bench.infer.interface")
    live: Any = interface.InferSession(0, str(path))

    def call(*arrays: Any) -> tuple[Any, ...]:
        import numpy as np

        count, parts = len(arrays[0]), []
        for start in range(0, count, batch):
            block = [a[start : start + batch] for a in arrays]
            short = batch - len(block[0])
            block = [np.concatenate([b, np.repeat(b[-1:], short, 0)]) if short else b for b in block]
            parts.append(live.infer(block))
        return tuple(np.concatenate(column)[:count] for column in zip(*parts))

    return call
