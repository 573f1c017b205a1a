"""Which names the real torch_npu has, so that a missing one fails here as it would there."""

from __future__ import annotations

import functools
import types
from typing import Any

from npudoctor import tables
from npudoctor.core.text import Text

_NOT_SIMULATED = Text(
    "{name} exists in torch_npu but the simulated NPU does not offer it",
    "{name} 在 torch_npu 中存在，但模拟 NPU 未提供",
)


@functools.cache
def known(module: str) -> frozenset[str]:
    """Public names of a torch_npu module in the newest release that the table knows."""
    rows = tables.load("torch_npu_names").rows
    return frozenset(row["name"] for row in rows if row["module"] == module and not row["until"])


def unsimulated(full: str) -> Any:
    """A stand-in for a name that exists there and not here: using it says so."""

    class Unsimulated:
        """Raises when used."""

        def __init__(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError(_NOT_SIMULATED.render("en", {"name": full}))

    Unsimulated.__name__ = Unsimulated.__qualname__ = full.rsplit(".", 1)[-1]
    return Unsimulated


class Names(types.ModuleType):
    """A module that knows which further names the real one has."""

    def __init__(self, name: str, real: str) -> None:
        super().__init__(name)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in known(self._real):
            return unsimulated(f"{self._real}.{name}")
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
