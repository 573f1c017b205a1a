"""The vendor's `key=value` files: version.info, *_install.info, version.cfg, and the ranges they declare."""

from __future__ import annotations

import re

from npudoctor.machine.facts import VersionInfo

_RANGE = re.compile(r"\[([^\[\],]+)(?:,([^\[\]]*))?\]")
_ATB = re.compile(r"^Ascend-cann-atb\s*:\s*(\S+)\s*$", re.M)


def fields(text: str) -> dict[str, str]:
    """Every `key=value` line; a later line does not replace an earlier one."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, sign, rest = line.strip().partition("=")
        if sign and key and not key.startswith("#"):
            found.setdefault(key.strip(), rest.strip().strip('"'))
    return found


def driver_info(text: str) -> VersionInfo | None:
    """driver/version.info: `package_version` where there is one (24.1 and later), else `Version`."""
    found = fields(text)
    version = found.get("package_version") or found.get("Version")
    return VersionInfo(version, found) if version else None


def firmware_info(text: str) -> VersionInfo | None:
    """firmware/version.info; its own `Version` is what the driver's ranges speak of."""
    found = fields(text)
    version = found.get("Version") or found.get("package_version")
    return VersionInfo(version, found) if version else None


def cann_install_info(text: str) -> VersionInfo | None:
    """ascend_toolkit_install.info and its relatives."""
    found = fields(text)
    return VersionInfo(found["version"], found) if found.get("version") else None


def component_info(text: str) -> VersionInfo | None:
    """A component's version.info: `version_dir` is the name people use (8.2.RC1), else `Version`."""
    found = fields(text)
    version = found.get("version_dir") or found.get("Version") or found.get("version")
    return VersionInfo(version, found) if version else None


def version_cfg(text: str) -> VersionInfo | None:
    """version.cfg: `toolkit_running_version=[7.6.0.1.220:8.0.0]` names the version after the colon."""
    found = fields(text)
    for key in ("toolkit_running_version", "runtime_running_version", "compiler_running_version"):
        match = re.search(r"\[[^\]:]*:([^\]]+)\]", found.get(key, ""))
        if match:
            return VersionInfo(match.group(1), found)
    return None


def atb_version(text: str) -> str | None:
    """The version in nnal/atb/latest/version.info."""
    match = _ATB.search(text)
    return match.group(1) if match else None


def ranges(text: str) -> tuple[tuple[str, str], ...]:
    """`[a,b],[c]` as ((a, b), (c, c)); closed ranges, as the vendor's files write them."""
    return tuple((lo.strip(), (hi or lo).strip()) for lo, hi in _RANGE.findall(text))


def _key(version: str) -> list[tuple[int, int, str]]:
    """Sortable form of a dotted version: numbers by value, `rc`/`beta` words before their release."""
    parts: list[tuple[int, int, str]] = []
    for part in re.findall(r"\d+|[a-z]+", version.lower()):
        parts.append((1, int(part), "") if part.isdecimal() else (-1, 0, part))
    return parts


def within(version: str, lo: str, hi: str) -> bool:
    """Whether `version` lies in the closed range.

    A bound ending in a dot (`23.0.0.`) is a prefix: every version that begins with it
    fits. Shorter bounds are compared over their own length, so 7.5.0.1.129 is within
    [7.0.0, 7.5.99].
    """
    own, low, high = _key(version), _key(lo), _key(hi)
    if own[: len(low)] < low:
        return False
    return own[: len(high)] <= high


def in_ranges(version: str, declared: tuple[tuple[str, str], ...]) -> bool:
    """Whether any of the declared ranges holds `version`."""
    return any(within(version, lo, hi) for lo, hi in declared)


def c_level(text: str) -> str:
    """The C-level of an inner version: `V100R001C22SPC001B231` -> `V100R001C22`; empty if there is none."""
    match = re.match(r"V\d+R\d+C\d+", text)
    return match.group() if match else ""
