"""NPUs on the PCI bus, read from sysfs (lspci is often missing in images)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Known, Leaf, PciDevice
from npudoctor.machine.host import Host
from npudoctor.machine.layout import place, places
from npudoctor.machine.leaves import failed
from npudoctor.machine.probe import Probe, Settings

BUS = "/sys/bus/pci/devices"


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[tuple[PciDevice, ...]]:
    """Every PCI function that is an NPU; Absent when there is none."""
    listing = host.list(BUS)
    if not listing.ok:
        return failed(listing)
    found = []
    for address in listing.data:
        folder = f"{BUS}/{address}"
        if (host.read(f"{folder}/vendor").data or "").strip() != place("pci.vendor"):
            continue
        device = (host.read(f"{folder}/device").data or "").strip().lower()
        if device.startswith(places("pci.device_prefix")):
            subsystem = (host.read(f"{folder}/subsystem_device").data or "").strip().lower()
            found.append(PciDevice(address, device, subsystem))
    return Known(tuple(found), BUS) if found else Absent(BUS)


PROBE = Probe("pci", collect)
