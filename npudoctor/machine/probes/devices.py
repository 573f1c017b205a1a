"""Device nodes: present, their owner and mode, and whether this process may open them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Known, Leaf, Node
from npudoctor.machine.host import Host, Observation
from npudoctor.machine.layout import places
from npudoctor.machine.leaves import failed
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[tuple[Node, ...]]:
    """Every NPU node in /dev; Absent when there is none."""
    listing = host.list("/dev")
    if not listing.ok:
        return failed(listing)
    paths = [f"/dev/{name}" for name in sorted(listing.data, key=_natural) if _named(name)]
    if not paths:
        return Absent("/dev")
    opened = host.open_rw(paths)
    return Known(tuple(_node(path, host.stat(path), opened[path]) for path in paths), "/dev")


@functools.lru_cache(maxsize=1024)
def _named(name: str) -> bool:
    """davinciN and vdavinciN are chips; the others manage them."""
    return any(re.fullmatch(pattern, name) for pattern in places("node.name"))


def _node(path: str, seen: Observation, opened: Observation) -> Node:
    data = seen.data or {}
    return Node(
        path,
        str(data.get("mode", "")),
        int(data.get("uid", -1)),
        int(data.get("gid", -1)),
        str(data.get("owner", "")),
        str(data.get("group", "")),
        "ok" if opened.ok else opened.error,
    )


def _natural(name: str) -> tuple[str, int]:
    digits = re.search(r"\d+$", name)
    return (name[: digits.start()], int(digits.group())) if digits else (name, -1)


PROBE = Probe("nodes", collect)
