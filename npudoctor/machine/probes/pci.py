"""NPUs on the PCI bus, read from sysfs (lspci is often missing in images)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Known, Leaf, PciDevice
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import failed
from npudoctor.machine.probe import Probe, Settings

BUS = "/sys/bus/pci/devices"
VENDOR = "0x19e5"
# The vendor makes network cards too: only accelerator ids count (data: chips.tsv, column pci).
NPU_PREFIXES = ("0xd1", "0xd5", "0xd8")


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[tuple[PciDevice, ...]]:
    """Every PCI function that is an NPU; Absent when there is none."""
    listing = host.list(BUS)
    if not listing.ok:
        return failed(listing)
    found = []
    for address in listing.data:
        folder = f"{BUS}/{address}"
        if (host.read(f"{folder}/vendor").data or "").strip() != VENDOR:
            continue
        device = (host.read(f"{folder}/device").data or "").strip().lower()
        if device.startswith(NPU_PREFIXES):
            subsystem = (host.read(f"{folder}/subsystem_device").data or "").strip().lower()
            found.append(PciDevice(address, device, subsystem))
    return Known(tuple(found), BUS) if found else Absent(BUS)


PROBE = Probe("pci", collect)
