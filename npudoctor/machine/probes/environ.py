"""The environment variables that matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[Mapping[str, str]]:
    """The variables chosen by `machine.variables`."""
    return leaf_of(host.environ(), place="environment")


PROBE = Probe("env", collect)
