"""Find units (checks, rules, probes) by walking their package: there is no list to edit."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any


class RegistryError(Exception):
    """A unit module is malformed; this is a fault of the source tree, never of the user."""


def unit_modules(package: ModuleType, prefix: str = "") -> list[ModuleType]:
    """Import every module of `package` whose name starts with `prefix`, sorted by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith(prefix))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def collect(package: ModuleType, attribute: str, prefix: str = "") -> dict[str, Any]:
    """The `attribute` of each unit module, by its `code`.

    A module `npu012_driver_missing` must expose a unit with code `NPU012` and slug
    `driver-missing`; two units of one code are refused.

    Raises:
        RegistryError: attribute missing, name and code disagree, or a code is used twice.
    """
    units: dict[str, Any] = {}
    for module in unit_modules(package, prefix):
        unit = getattr(module, attribute, None)
        name = module.__name__.rsplit(".", 1)[-1]
        if unit is None:
            raise RegistryError(f"{module.__name__} exposes no {attribute}")
        expected = f"{unit.code.lower()}_{unit.slug.replace('-', '_')}"
        if name != expected:
            raise RegistryError(f"{module.__name__} should be named {expected} after its code and slug")
        if unit.code in units:
            raise RegistryError(f"{unit.code} is used twice: {module.__name__}")
        units[unit.code] = unit
    return units
