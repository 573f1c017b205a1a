"""The driver: install record, version file, user libraries, kernel modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.facts import Absent, Driver, Known, Leaf, decided, value
from npudoctor.machine.host import Host
from npudoctor.machine.layout import place, places
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.parsers.version_info import driver_info, fields
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Driver:
    """Follow `Driver_Install_Path_Param` to a driver outside the default place."""
    install = leaf_of(host.read(place("driver.record")), fields)
    root = driver_root(value(install, {}))
    return Driver(
        root=root,
        info=leaf_of(host.read(f"{root}/driver/version.info"), driver_info),
        libraries=_libraries(host, root),
        modules=leaf_of(host.read("/proc/modules"), _modules),
        install=install,
        dcmi=leaf_of(host.stat(place("driver.dcmi")), lambda _: place("driver.dcmi")),
    )


def driver_root(record: Mapping[str, str]) -> str:
    """The install root in /etc/ascend_install.info (the vendor reads its keys without case)."""
    lowered = {key.lower(): path for key, path in record.items()}
    return (lowered.get("driver_install_path_param") or place("driver.root")).rstrip("/")


def _libraries(host: Host, root: str) -> Leaf[str]:
    seen = [leaf_of(host.stat(f"{root}/{path}"), lambda data: data["real"]) for path in places("driver.hal")]
    for leaf in seen:
        if isinstance(leaf, Known):
            return leaf
    unclear = [leaf for leaf in seen if not decided(leaf)]
    return unclear[0] if unclear else Absent(f"{root}/driver/lib64")


def _modules(text: str) -> tuple[str, ...]:
    names = (line.split(" ", 1)[0] for line in text.splitlines())
    return tuple(name for name in names if name.startswith(places("driver.module_prefix")))


PROBE = Probe("driver", collect)
