"""The driver's network tool, which jobs over several nodes want inside their containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf
from npudoctor.machine.host import Host
from npudoctor.machine.layout import place
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[str]:
    """`<driver root>/driver/tools/hccn_tool`."""
    path = f"{known['driver'].root}/{place('driver.hccn_tool')}"
    return leaf_of(host.stat(path), lambda _: path)


PROBE = Probe("hccn_tool", collect, after=("driver",))
