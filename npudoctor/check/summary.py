"""The lines at the top of a report: what was found on this machine, and where."""

from __future__ import annotations

from npudoctor.check.api import chips, driver_seen
from npudoctor.core.blocks import Cell, Phrase
from npudoctor.core.finding import in_words
from npudoctor.core.report import Fact
from npudoctor.core.text import Text, verbatim
from npudoctor.machine.facts import Absent, Known, Leaf, Machine, TimedOut, Unknown, value

_LABELS = {
    "system": Text("system", "系统"),
    "python": verbatim("Python"),
    "chips": Text("chips", "芯片"),
    "driver": Text("driver", "驱动"),
    "firmware": Text("firmware", "固件"),
    "cann": verbatim("CANN"),
    "torch": verbatim("torch"),
    "torch_npu": verbatim("torch_npu"),
}
_NOT_KNOWN = Text("? ({why})", "?（{why}）")
_INSIDE = Text("{system}, container: {container}", "{system}，容器：{container}")


def facts(machine: Machine) -> tuple[Fact, ...]:
    """One line per part of the stack, in the order in which they depend on each other."""
    return tuple(
        Fact(key, _LABELS[key], text, place)
        for key, (text, place) in {
            "system": _system(machine),
            "python": _python(machine),
            "chips": _chips(machine),
            "driver": _driver(machine),
            "firmware": _version(machine.firmware),
            "cann": _cann(machine),
            "torch": _package(machine, "torch"),
            "torch_npu": _package(machine, "torch-npu"),
        }.items()
    )


def _none(leaf: Leaf) -> tuple[Cell, str]:
    if isinstance(leaf, Unknown):
        detail = "timeout" if isinstance(leaf, TimedOut) else leaf.detail
        return Phrase(_NOT_KNOWN, {"why": in_words(detail)}) if detail else "?", leaf.place
    return "-", leaf.place if isinstance(leaf, Absent) else ""


def _version(leaf: Leaf) -> tuple[Cell, str]:
    return (leaf.value.version, leaf.place) if isinstance(leaf, Known) else _none(leaf)


def _driver(machine: Machine) -> tuple[Cell, str]:
    seen = driver_seen(machine)
    return (seen[0].version, seen[1]) if seen is not None else _none(machine.driver.info)


def _system(machine: Machine) -> tuple[Cell, str]:
    parts = [value(machine.os.distribution), value(machine.os.arch)]
    if isinstance(machine.os.container, Known):
        known = ", ".join(p for p in parts if p) or "?"
        inside = Phrase(_INSIDE, {"system": known, "container": machine.os.container.value})
        return inside, "/etc/os-release, uname"
    return ", ".join(p for p in parts if p) or "?", "/etc/os-release, uname"


def _python(machine: Machine) -> tuple[Cell, str]:
    python = machine.python
    if not isinstance(python.version, Known):
        return _none(python.version)
    return f"{python.version.value} ({python.kind}, {python.arch})", python.executable


def _chips(machine: Machine) -> tuple[Cell, str]:
    found = chips(machine)
    if not found:
        return _none(machine.npu_smi.info)
    names = sorted({chip.name for chip in found})
    return f"{len(found)} x {', '.join(names)}", "npu-smi info"


def _cann(machine: Machine) -> tuple[Cell, str]:
    installs = value(machine.cann.installs, ())
    if not installs:
        return _none(machine.cann.installs)
    active = machine.cann.active()
    marked = [f"{i.version}{' *' if i is active and len(installs) > 1 else ''}" for i in installs]
    return ", ".join(marked), ", ".join(i.place for i in installs)


def _package(machine: Machine, name: str) -> tuple[Cell, str]:
    found = machine.python.first(name)
    if found is None:
        return _none(machine.python.packages)
    return found.build or found.version, found.location
