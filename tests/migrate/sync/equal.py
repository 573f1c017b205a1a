"""Run a program before and after migration on CPU torch and compare every number bit for bit."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import warnings
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from npudoctor.migrate.engine import all_rules, migrate_source
from npudoctor.migrate.settings import Settings

torch.set_num_threads(1)
# How many times as many random programs as a short run: NPUDOCTOR_PROGRAMS=10 for a long one.
PROGRAMS = int(os.environ.get("NPUDOCTOR_PROGRAMS", "1"))
SYNC_RULES = [r for r in all_rules() if r.code.startswith("NPU2")]


class CountReads(TorchDispatchMode):
    """Counts scalar reads, the part of the syncs that CPU torch makes visible."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func).rsplit(".", 1)[0]] += 1
        return func(*args, **(kwargs or {}))

    @property
    def reads(self) -> int:
        return self.counts["aten._local_scalar_dense"]


def migrated(source: str, unsafe: bool = False) -> str:
    """The source after every sync rule; it must be stable."""
    settings = Settings(unsafe=unsafe)
    result = migrate_source(source, "program.py", settings, rules=SYNC_RULES)
    assert not result.failed, result.findings
    again = migrate_source(result.text, "program.py", settings, rules=SYNC_RULES)
    assert again.text == result.text, "not idempotent"
    return result.text


def bits(value: Any) -> Any:
    """A form in which two values are equal only if type and every bit agree."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [bits(v) for v in value])
    if callable(value) and not isinstance(value, torch.Tensor):
        return ("calls", bits(value()))
    if isinstance(value, dict):
        return ("dict", [(k, bits(v)) for k, v in value.items()])
    if isinstance(value, torch.Tensor):
        raw = value.detach().contiguous().cpu()
        return ("tensor", str(raw.dtype), tuple(raw.shape), bits(raw.double().flatten().tolist()))
    if type(value).__module__ == "numpy":
        return ("numpy", str(value.dtype), bits(value.tolist()))
    return (type(value).__name__, value)


def outcome(source: str, *args: Any, name: str = "program") -> tuple[Any, int]:
    """What `program(*args)` of `source` returns, prints or raises, and its scalar reads."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), namespace)
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), CountReads() as counter:
        warnings.simplefilter("ignore")
        try:
            result = bits(namespace[name](*args))
        except Exception as error:  # the rewritten program must fail in the same way
            result = ("raised", type(error).__name__)
    return (result, printed.getvalue()), counter.reads
