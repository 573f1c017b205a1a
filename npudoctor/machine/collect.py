"""Run every probe against a host and put the facts together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from npudoctor.core.registry import unit_modules
from npudoctor.machine import probes
from npudoctor.machine.facts import Machine
from npudoctor.machine.host import Host
from npudoctor.machine.probe import Probe, Settings


@functools.cache
def all_probes() -> tuple[Probe, ...]:
    """Every probe, ordered so that each comes after the fields it needs.

    Raises:
        ValueError: two probes fill one field, or they wait for each other.
    """
    waiting = {}
    for module in unit_modules(probes):
        probe: Probe = module.PROBE
        if probe.field in waiting:
            raise ValueError(f"two probes fill {probe.field}")
        waiting[probe.field] = probe
    ordered: list[Probe] = []
    done: set[str] = set()
    while waiting:
        ready = [p for p in waiting.values() if set(p.after) <= done]
        if not ready:
            raise ValueError(f"probes wait for each other: {sorted(waiting)}")
        for probe in ready:
            ordered.append(waiting.pop(probe.field))
            done.add(probe.field)
    return tuple(ordered)


def collect(host: Host, settings: Settings, advance: Callable[[int], None] = lambda steps: None) -> Machine:
    """The facts about the machine behind `host`; `advance(1)` is called after each probe."""
    found: dict[str, Any] = {}
    for probe in all_probes():
        known: Mapping[str, Any] = {name: found[name] for name in probe.after}
        found[probe.field] = probe.collect(host, settings, known)
        advance(1)
    return Machine(**found)
