"""The parts of a set that a machine already has, taken from its facts."""

from __future__ import annotations

from dataclasses import dataclass

from npudoctor.machine.facts import Known, Machine, value
from npudoctor.pairing.seen import family_of
from npudoctor.pairing.solve import Query
from npudoctor.pairing.versions import normal_python, public, vendor


@dataclass(frozen=True)
class Part:
    """One part found: its name, its version as written, and where."""

    name: str
    version: str
    place: str


def parts_of(machine: Machine) -> list[Part]:
    """torch, torch_npu, CANN, driver, Python and chip of a machine; what is not known is left out."""
    found = []
    for name, package in (("torch", "torch"), ("torch_npu", "torch-npu")):
        copy = machine.python.first(package)
        if copy is not None and copy.version:
            found.append(Part(name, copy.version, copy.location))
    cann = machine.cann.in_use()
    if cann is not None and cann.version:
        found.append(Part("cann", cann.version, cann.place))
    if isinstance(machine.driver.info, Known):
        found.append(Part("driver", machine.driver.info.value.version, machine.driver.info.place))
    if isinstance(machine.python.version, Known):
        found.append(Part("python", machine.python.version.value, machine.python.executable))
    smi = value(machine.npu_smi.info)
    families = [family_of(chip) for chip in smi.chips] if smi is not None else []
    if families and families[0] is not None:
        found.append(Part("chip", families[0].key, "npu-smi info"))
    return found


def query_of(parts: list[Part]) -> Query:
    """The query that these parts make; versions that do not parse are left free."""
    given: dict[str, str] = {}
    for part in parts:
        try:
            if part.name in ("torch", "torch_npu"):
                given[part.name] = str(public(part.version))
            elif part.name in ("cann", "driver"):
                given[part.name] = str(vendor(part.version))
            elif part.name == "python":
                given[part.name] = normal_python(part.version)
            else:
                given[part.name] = part.version
        except ValueError:
            continue
    return Query(**given)
