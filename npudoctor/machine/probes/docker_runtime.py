"""Ascend Docker Runtime, which mounts devices and driver by itself where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf
from npudoctor.machine.host import Host
from npudoctor.machine.layout import place
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[str]:
    """Its install folder."""
    return leaf_of(host.stat(place("docker_runtime")), lambda _: place("docker_runtime"))


PROBE = Probe("docker_runtime", collect)
