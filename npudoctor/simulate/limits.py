"""What the real device refuses, is not known to take, or does on the CPU, and is silently done here.

Rows of data/device_limits.tsv; bfloat16 on chips without it comes from data/chips.tsv. A hit is
noted with its line and reported (NPU406); with `--strict` it raises at once.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from npudoctor import tables
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.simulate import live

_UNKNOWN = Text("unknown chip {chip}; the table knows {known}", "未知芯片 {chip}；数据表包含：{known}")
active: dict[str, list[tuple[frozenset[str], Mapping[str, str]]]] = {}
_types: dict[str, set[Any]] = {}  # operator -> limited torch dtypes; kernels hold these very sets
_state = {"strict": False}
# Operators through which a tensor of some type comes to be on the device.
ENTRIES = ("_to_copy", "copy_", "empty.memory_format", "zeros", "ones", "full", "rand", "randn", "arange")


REFUSED = ("refused", "unlisted", "unsupported")  # with --strict; a fallback works, only slowly


# PyTorch's own float64 helpers, which run on the real device every day.
PROVEN = (os.path.join("torch", "_tensor_str.py"), os.path.join("torch", "amp", "grad_scaler.py"))


class NotOnDevice(RuntimeError):
    """The real device refuses this operator or type (raised with `--strict` only)."""


def family_of(chip: str) -> str:
    """The key of data/chips.tsv for a chip name such as `Ascend910B3` or `910b`.

    Raises:
        UserError: the table does not know the chip.
    """
    wanted = chip.lower().replace("ascend", "").replace(" ", "")
    rows = tables.load("chips").rows
    for row in rows:
        if wanted == row["key"] or wanted in row["names"].lower().split(","):
            return row["key"]
    known = ", ".join(row["key"] for row in rows)
    raise UserError(_UNKNOWN, params={"chip": chip, "known": known})


def choose(chip: str, strict: bool) -> None:
    """Make the limits of a chip those that kernels are checked against."""
    family = family_of(chip)
    active.clear()
    for types in _types.values():
        types.clear()
    _state["strict"] = strict
    for row in tables.load("device_limits").rows:
        if row["families"] == "any" or family in row["families"].split(","):
            _add(_operators(row), row["dtypes"], row)
    for row in tables.load("chips").rows:
        if row["key"] == family and row["bfloat16"] == "no":
            _add(list(ENTRIES), "bfloat16", {
                **row, "key": "bfloat16", "effect": "refused",
                "en": f"{row['family']} has no bfloat16", "zh": f"{row['family']} 不支持 bfloat16",
            })


def _operators(row: Mapping[str, str]) -> list[str]:
    """The operators of a row; `entries` stands for all of `ENTRIES`."""
    names: list[str] = []
    for name in row["operators"].split(","):
        names += ENTRIES if name == "entries" else (name,)
    return names


def _add(operators: list[str], dtypes: str, row: Mapping[str, str]) -> None:
    import torch

    every = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    types = every if dtypes == "*" else {getattr(torch, name) for name in dtypes.split(",")}
    for name in operators:
        _types.setdefault(name, set()).update(types)
        active.setdefault(name, []).append((frozenset(dtypes.split(",")), row))


@functools.cache
def watched() -> frozenset[str]:
    """Every operator that some chip limits: their kernels get a check in front."""
    names = {name for row in tables.load("device_limits").rows for name in _operators(row)}
    return frozenset(names | set(ENTRIES))


def of(name: str) -> tuple[set[Any], Callable[[Any], None]] | None:
    """For an operator (`mm`, `add.Tensor`): its set of limited types, and what to call on a hit."""
    base = name.partition(".")[0]
    key = next((k for k in (name, base, base.rstrip("_")) if k in watched()), None)
    if key is None:
        return None
    return _types.setdefault(key, set()), functools.partial(hit, key)


def checked(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` with the check in front, for kernels that are not written from a schema."""
    found = of(name)
    if found is None:
        return kernel
    limited, report = found

    def check(*args: Any, **kw: Any) -> Any:
        if not limited.isdisjoint([getattr(value, "dtype", None) for value in (*args, *kw.values())]):
            for value in (*args, *kw.values()):
                if getattr(value, "dtype", None) in limited:
                    report(value.dtype)
        if kw.get("dtype") in limited:
            report(kw["dtype"])
        return kernel(*args, **kw)

    return check


def hit(name: str, dtype: Any) -> None:
    """Note each row of the table that operator `name` meets with `dtype`; with `--strict` raise."""
    recorder = live.recorder
    if recorder is None:
        return
    text = str(dtype).replace("torch.", "")
    path, where = recorder.path(2)
    if any(recorder.codes[key].co_filename.endswith(PROVEN) for key, _ in path):
        return
    for limited, row in active.get(name, ()):
        if limited == {"*"} or text in limited:
            recorder.limits[(row["key"], name, text, where)] += 1
            if _state["strict"] and row["effect"] in REFUSED:
                raise NotOnDevice(
                    f"{name}({text}): {row['en']} (simulated NPU, --strict; {row['source_url']})"
                )
