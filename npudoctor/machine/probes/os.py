"""Operating system, kernel, C library, architecture, and whether this is a container."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Known, Leaf, Os, decided, value
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.parsers.version_info import fields
from npudoctor.machine.probe import Probe, Settings

_CGROUP = re.compile(r"/(docker|kubepods|containerd|lxc|libpod|crio)[-/.]")
_NAMES = {"kubepods": "kubernetes", "libpod": "podman", "crio": "cri-o"}


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Os:
    """Each from its own place: uname, os-release, marker files, the control group of process 1."""
    identity = host.identity()
    environ = known["env"]
    return Os(
        arch=leaf_of(identity, lambda d: d.get("machine"), "uname"),
        kernel=leaf_of(identity, lambda d: d.get("release"), "uname"),
        glibc=leaf_of(identity, lambda d: d.get("libc") or None, "libc"),
        distribution=leaf_of(host.read("/etc/os-release"), _distribution),
        container=_container(host, value(environ, {})),
        kubernetes="KUBERNETES_SERVICE_HOST" in value(environ, {}),
    )


def _distribution(text: str) -> str | None:
    found = fields(text)
    return found.get("PRETTY_NAME") or found.get("NAME")


def _container(host: Host, environ: Mapping[str, str]) -> Leaf[str]:
    markers = [
        leaf_of(host.stat("/.dockerenv"), lambda _: "docker", "/.dockerenv"),
        leaf_of(host.stat("/run/.containerenv"), lambda _: "podman", "/run/.containerenv"),
    ]
    if "KUBERNETES_SERVICE_HOST" in environ:
        markers.insert(0, Known("kubernetes", "KUBERNETES_SERVICE_HOST"))
    if environ.get("container"):
        markers.append(Known(environ["container"], "container variable"))
    cgroup = leaf_of(host.read("/proc/1/cgroup"))
    match = _CGROUP.search(value(cgroup, ""))
    if match:
        markers.append(Known(_NAMES.get(match.group(1), match.group(1)), "/proc/1/cgroup"))
    for marker in markers:
        if isinstance(marker, Known):
            return marker
    undecided = [m for m in markers if not decided(m)]
    return undecided[0] if undecided else Absent("/.dockerenv, /run/.containerenv, /proc/1/cgroup")


PROBE = Probe("os", collect, after=("env",))
