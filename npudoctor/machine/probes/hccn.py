"""The file that multi-node communication needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf
from npudoctor.machine.host import Host
from npudoctor.machine.layout import place
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[str]:
    """Whether /etc/hccn.conf is there; its content (addresses) is not read."""
    return leaf_of(host.stat(place("hccn.conf")), lambda _: place("hccn.conf"))


PROBE = Probe("hccn_conf", collect)
