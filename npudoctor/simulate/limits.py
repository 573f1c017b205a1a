"""What the real device refuses, or does on the CPU, and the simulation would silently do.

Rows of data/device_limits.tsv; bfloat16 on chips without it comes from data/chips.tsv. A hit is
noted with its line and reported (NPU406); with `--strict` it raises at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npudoctor import tables
from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.simulate import live

_UNKNOWN = Text("unknown chip {chip}; the table knows {known}", "未知芯片 {chip}；数据表包含：{known}")
active: dict[str, list[tuple[frozenset[str], Mapping[str, str]]]] = {}
_types: dict[str, set[Any]] = {}  # operator -> limited torch dtypes, or "*"
_state = {"strict": False}
ENTRIES = ("_to_copy", "copy_", "empty.memory_format", "zeros", "ones", "full", "rand", "randn", "arange")


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
    _types.clear()
    _state["strict"] = strict
    for row in tables.load("device_limits").rows:
        if row["families"] == "any" or family in row["families"].split(","):
            _add(row["operators"].split(","), row["dtypes"], row)
    for row in tables.load("chips").rows:
        if row["key"] == family and row["bfloat16"] == "no":
            _add(list(ENTRIES), "bfloat16", {
                **row, "key": "bfloat16", "effect": "refused",
                "en": f"{row['family']} has no bfloat16", "zh": f"{row['family']} 不支持 bfloat16",
            })


def _add(operators: list[str], dtypes: str, row: Mapping[str, str]) -> None:
    import torch

    types = {"*" if name == "*" else getattr(torch, name, name) for name in dtypes.split(",")}
    for name in operators:
        _types.setdefault(name, set()).update(types)
        active.setdefault(name, []).append((frozenset(dtypes.split(",")), row))


def watched() -> frozenset[str]:
    """Every operator that some chip limits: their kernels get a check in front."""
    names = {name for row in tables.load("device_limits").rows for name in row["operators"].split(",")}
    return frozenset(names | set(ENTRIES))


def checked(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` with the check in front; it costs one set lookup per tensor."""

    def check(*args: Any, **kw: Any) -> Any:
        limited = _types.get(name)
        if limited is not None and live.recorder is not None:
            dtypes = [value.dtype for value in args if hasattr(value, "dtype")]
            if kw.get("dtype") is not None:
                dtypes.append(kw["dtype"])
            if "*" in limited or not limited.isdisjoint(dtypes):
                _report(name, dtypes)
        return kernel(*args, **kw)

    return check


def _report(name: str, dtypes: list[Any]) -> None:
    found = {str(dtype).replace("torch.", "") for dtype in dtypes}
    for limited, row in active[name]:
        hit = found if limited == {"*"} else found & limited
        if hit:
            _hit(name, sorted(hit)[0], row)


def _hit(name: str, dtype: str, row: Mapping[str, str]) -> None:
    recorder = live.recorder
    if recorder is None:
        return
    recorder.limits[(row["key"], name, dtype, recorder.position(3))] += 1
    if _state["strict"] and row["effect"] == "refused":
        raise NotOnDevice(f"{name}({dtype}): {row['en']} (simulated NPU, --strict; {row['source_url']})")
