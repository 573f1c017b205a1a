"""Run an OM through ais_bench, the Python face of the ACL runtime, where it is installed.

`InferSession(device, path).infer(arrays, mode)`: mode `static` for a fixed batch, `dymbatch` for a model with
sizes, whose every call has to have one of them.
Source: https://gitee.com/ascend/tools/blob/master/ais-bench_workload/tool/ais_bench/README.md
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from npudoctor.export.verify import Call, Limits

RUNTIME = "ais_bench"
# ATC picks float16 wherever an operator has it, on most chips.
LIMITS = Limits(1e-2, 5e-2)


def available() -> bool:
    """Whether an ACL runtime for Python is here; a benchmark for language models has the same top name."""
    try:
        return importlib.util.find_spec(f"{RUNTIME}.infer.interface") is not None
    except Exception:  # a package that cannot be imported is not a runtime
        return False


def caller(path: Path, sizes: tuple[int, ...], *, dynamic: bool) -> Call:
    """The OM as a function of NumPy rows. It prints on standard output: see `core.streams`.

    Args:
        sizes: batches the model takes; one for a fixed batch. A block is filled up with its last row.
        dynamic: the model was converted with --dynamic_batch_size.

    Raises:
        RuntimeError: the runtime refuses the model; ImportError, OSError: it is broken.
    """
    interface = importlib.import_module(f"{RUNTIME}.infer.interface")
    live: Any = interface.InferSession(0, str(path))
    mode = "dymbatch" if dynamic else "static"

    def call(*arrays: Any) -> tuple[Any, ...]:
        import numpy as np

        count, parts = len(arrays[0]), []
        for start in range(0, count, max(sizes)):
            block = [a[start : start + max(sizes)] for a in arrays]
            rows = min(size for size in sizes if size >= len(block[0]))
            short = rows - len(block[0])
            block = [np.concatenate([b, np.repeat(b[-1:], short, 0)]) if short else b for b in block]
            parts.append([out[: rows - short] for out in live.infer(block, mode)])
        return tuple(np.concatenate(column) for column in zip(*parts))

    return call
