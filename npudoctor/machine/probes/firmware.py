"""The firmware's version file (normally not there in containers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf, VersionInfo
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.parsers.version_info import firmware_info
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[VersionInfo]:
    """firmware/version.info beside the driver."""
    return leaf_of(host.read(f"{known['driver'].root}/firmware/version.info"), firmware_info)


PROBE = Probe("firmware", collect, after=("driver",))
