"""The user and groups this process runs with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Leaf, User
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Leaf[User]:
    """uid, gid, groups and effective capabilities."""
    return leaf_of(host.identity(), _user)


def _user(data: Mapping[str, Any]) -> User | None:
    try:
        return User(
            data["uid"],
            data["gid"],
            tuple(data.get("groups", ())),
            tuple(data.get("group_names", ())),
            int(data["cap_eff"], 16) if data.get("cap_eff") else -1,
        )
    except (KeyError, ValueError, TypeError):
        return None


PROBE = Probe("user", collect)
