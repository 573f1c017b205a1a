"""The interpreter under diagnosis and its packages, from their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.children import source
from npudoctor.machine.facts import Distribution, Known, Python, Unknown, Unparsed
from npudoctor.machine.host import Command, Host, Observation
from npudoctor.machine.leaves import failed
from npudoctor.machine.parsers.marks import marks
from npudoctor.machine.probe import Probe, Settings

LABEL = "python packages"
_TIMEOUT_S = 20.0  # nothing is imported here: more is never needed


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Python:
    """Ask the interpreter itself, in a child process: it may be another one than ours, or broken."""
    argv = (settings.python, "-c", source("packages"), *settings.packages)
    seen = host.run(Command(LABEL, argv, min(_TIMEOUT_S, settings.timeout_s)))
    told = marks((seen.data or {}).get("stdout", ""))
    if not seen.ok or not told:
        missing = _why(seen, settings.python)
        return Python(executable=settings.python, version=missing, packages=missing)
    facts = told[-1]
    packages = _packages(facts.get("packages", {}))
    if packages is None:
        damaged = Unparsed(settings.python, str(facts)[:200])
        return Python(executable=settings.python, version=damaged, packages=damaged)
    place = str(facts.get("executable", settings.python))
    return Python(
        executable=place,
        version=Known(str(facts.get("version", "")), place),
        implementation=str(facts.get("implementation", "")),
        arch=str(facts.get("arch", "")),
        kind=str(facts.get("kind", "")),
        soabi=str(facts.get("soabi", "")),
        packages=Known(packages, f"{place}: package metadata"),
    )


def _packages(told: Any) -> dict[str, tuple[Distribution, ...]] | None:
    """Name -> copies; None where the answer has another shape (a damaged bundle)."""
    try:
        return {name: tuple(_distribution(name, c) for c in copies) for name, copies in told.items()}
    except (AttributeError, TypeError):
        return None


def _why(seen: Observation, python: str) -> Unknown:
    """No interpreter, no facts: a missing one is unknown, and never "nothing is installed"."""
    if seen.ok:
        return Unparsed(python, (seen.data or {}).get("stderr", "")[-300:])
    leaf = failed(seen, python)
    return leaf if isinstance(leaf, Unknown) else Unknown(python, "ENOENT")


def _distribution(name: str, data: Mapping[str, Any]) -> Distribution:
    return Distribution(
        name,
        str(data.get("version") or ""),  # metadata may lack one
        str(data.get("location") or ""),
        _words(data.get("requires")),
        _words(data.get("tags")),
        str(data.get("build") or ""),
        _words(data.get("extensions")),
        _words(data.get("entry_points")),
    )


def _words(told: Any) -> tuple[str, ...]:
    return tuple(str(word) for word in told) if isinstance(told, list) else ()


PROBE = Probe("python", collect)
