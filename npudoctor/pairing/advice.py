"""Ready fixes for findings about versions: which set to install, and which one a driver carries.

Checks and the `pair` command use the same words, so a fix never contradicts the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from npudoctor.core.finding import Fix
from npudoctor.core.text import Text, filled
from npudoctor.pairing.install import pip_commands
from npudoctor.pairing.solve import Candidate, Query, candidates
from npudoctor.pairing.table import DriverRelation, Tables

_SET = Text(
    "install the set that goes together: torch {torch}, torch_npu {torch_npu}, CANN {cann}, Python {python}",
    "安装一组相互配套的版本：torch {torch}、torch_npu {torch_npu}、CANN {cann}、Python {python}",
)
_CARRIED = Text(
    "if you cannot change the driver (rented machine, container): use a set that driver {driver} "
    "carries: CANN {cann}, torch {torch}, torch_npu {torch_npu}, Python {python}",
    "如果无法更换驱动（租用的机器或容器内）：改用驱动 {driver} 能够支撑的一组版本："
    "CANN {cann}、torch {torch}、torch_npu {torch_npu}、Python {python}",
)
_CARRIES = frozenset({DriverRelation.PAIRED, DriverRelation.COMPATIBLE, DriverRelation.NEWER})


@dataclass(frozen=True)
class Advice:
    """A set to install and the fix that says so."""

    candidate: Candidate
    fix: Fix


def set_fix(data: Tables, query: Query, arch: str = "x86_64") -> Advice | None:
    """The best set for the given parts, None where the tables document none."""
    found = next((c for c in candidates(data, query) if c.exact), None)
    return None if found is None else _advice(_SET, found, arch, {})


def driver_set_fix(
    data: Tables, driver: str, arch: str = "x86_64", python: str | None = None
) -> Advice | None:
    """The newest documented set that `driver` carries: the way out for those who cannot change it."""
    options = candidates(data, Query(driver=driver, python=python))
    found = next((c for c in options if c.exact and c.driver in _CARRIES), None)
    return None if found is None else _advice(_CARRIED, found, arch, {"driver": driver})


def _advice(text: Text, found: Candidate, arch: str, more: dict[str, object]) -> Advice:
    params = {
        "torch": found.row.torch, "torch_npu": found.row.torch_npu, "cann": str(found.cann),
        "python": found.python or "?", **more,
    }
    return Advice(found, Fix(filled(text, params), pip_commands(found.row, found.python, arch)))
