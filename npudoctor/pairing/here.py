"""The parts of a set that this machine already has, read from package metadata and version files."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from npudoctor.pairing.solve import Query
from npudoctor.pairing.versions import public, vendor

_CANN_HOMES = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
_DRIVER = "/usr/local/Ascend/driver/version.info"


@dataclass(frozen=True)
class Part:
    """One part found: its name, its version as written, and where."""

    name: str
    version: str
    place: str


def parts_here() -> list[Part]:
    """torch, torch_npu, CANN, driver and Python of this machine; what is missing is left out."""
    found = []
    for name in ("torch", "torch_npu"):
        try:
            found.append(Part(name, metadata.version(name), "package metadata"))
        except metadata.PackageNotFoundError:
            continue
    found.extend(filter(None, (_cann(), _driver())))
    found.append(Part("python", ".".join(platform.python_version_tuple()[:2]), "this interpreter"))
    return found


def query_of(parts: list[Part]) -> Query:
    """The query that these parts make; versions that do not parse are left free."""
    given: dict[str, str] = {}
    for part in parts:
        try:
            text = str(public(part.version)) if "torch" in part.name else part.version
            if part.name in ("cann", "driver"):
                text = str(vendor(part.version))
        except ValueError:
            continue
        given[part.name] = text
    return Query(**given)


def _driver() -> Part | None:
    text = _read(Path(_DRIVER))
    for key in ("package_version", "Version"):
        match = re.search(rf"^{key}=(\S+)", text, re.MULTILINE)
        if match:
            return Part("driver", match[1], _DRIVER)
    return None


def _cann() -> Part | None:
    homes = [os.environ.get("ASCEND_HOME_PATH", ""), os.environ.get("ASCEND_TOOLKIT_HOME", ""), *_CANN_HOMES]
    for home in filter(None, homes):
        for path in sorted(Path(home).glob("*-linux/ascend_toolkit_install.info")):
            match = re.search(r"^version=(\S+)", _read(path), re.MULTILINE)
            if match:
                return Part("cann", match[1], str(path))
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
