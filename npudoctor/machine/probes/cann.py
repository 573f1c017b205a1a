"""CANN: every installation that can be found, and which of them the environment points at."""

from __future__ import annotations

import dataclasses
import functools
import posixpath
from collections.abc import Mapping
from typing import Any

from npudoctor.machine import layout
from npudoctor.machine.facts import Absent, Cann, CannInstall, Known, Leaf, VersionInfo, decided, value
from npudoctor.machine.host import Host
from npudoctor.machine.leaves import leaf_of
from npudoctor.machine.parsers import version_info as parse
from npudoctor.machine.probe import Probe, Settings


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Cann:
    """Look in the places of both directory generations and wherever the variables point."""
    environ: Mapping[str, str] = value(known["env"], {})
    libraries = _library_path(host, environ)
    places, unseen = _candidates(host, environ, libraries, known["driver"].root)
    installs, unclear = _installs(host, places)
    found: Leaf[tuple[CannInstall, ...]] = (
        Known(tuple(installs), ", ".join(i.home for i in installs))
        if installs
        else (unclear or unseen or Absent("ASCEND_HOME_PATH, /usr/local/Ascend, $HOME/Ascend"))
    )
    home = environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME")
    opp_path = environ.get("ASCEND_OPP_PATH", "").rstrip("/")
    opp = host.stat(opp_path) if opp_path else None
    return Cann(
        installs=found,
        nnal=_nnal(host, environ, known["driver"].root),
        on_library_path=_homes_on_path(host, known["env"], libraries, installs),
        stub_paths=tuple(p for p in libraries if p.rstrip("/").endswith(("/devlib", "/stub", "/stubs"))),
        home_exists=host.stat(home).ok if home else None,
        opp_exists=opp.ok if opp else None,
        opp_home=posixpath.dirname(str(opp.data.get("real", ""))) if opp and opp.ok else "",
        hal_elsewhere=_hal_on_path(host, libraries),
    )


def _library_path(host: Host, environ: Mapping[str, str]) -> list[str]:
    """LD_LIBRARY_PATH, then what the loader's configuration adds; order kept."""
    paths = [p for p in environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    folder = "/etc/ld.so.conf.d"
    for name in host.list(folder).data or ():
        if name.endswith(".conf"):
            text = host.read(f"{folder}/{name}").data or ""
            paths += [line.strip() for line in text.splitlines() if line.strip().startswith("/")]
    return list(dict.fromkeys(paths))


def _candidates(
    host: Host, environ: Mapping[str, str], libraries: list[str], root: str
) -> tuple[list[str], Leaf[Any] | None]:
    """Folders that may be a CANN home, and the first folder that could not be looked into."""
    places = [environ.get("ASCEND_HOME_PATH", ""), environ.get("ASCEND_TOOLKIT_HOME", "")]
    places += [
        posixpath.dirname(p.rstrip("/"))
        for p in libraries
        if p.rstrip("/").endswith("/lib64") and "/driver" not in p and "/atb" not in p
    ]
    unseen: Leaf[Any] | None = None
    for base in dict.fromkeys([f"{environ.get('HOME', '')}/Ascend", root, "/usr/local/Ascend"]):
        if not base.startswith("/") or base == "/Ascend":
            continue
        listing = leaf_of(host.list(base))
        if not decided(listing):
            unseen = unseen or listing
        names = value(listing, ())
        places += [f"{base}/{n}" for n in names if n == "cann" or n.startswith("cann-")]
        for product in layout.places("cann.product_folder"):
            if product in names:
                versions = host.list(f"{base}/{product}").data or ()
                places += [f"{base}/{product}/{v}" for v in versions if v == "latest" or v[:1].isdecimal()]
    return [p.rstrip("/") for p in dict.fromkeys(places) if p.startswith("/")], unseen


def _installs(host: Host, places: list[str]) -> tuple[list[CannInstall], Any]:
    by_home: dict[str, list[str]] = {}
    unclear: Any = None
    for place in places:
        seen = host.stat(place)
        if seen.ok and seen.data.get("kind") == "dir":
            by_home.setdefault(str(seen.data.get("real", place)), []).append(place)
        elif not decided(leaf_of(seen)):
            unclear = unclear or leaf_of(seen)
    found = []
    for home, names in by_home.items():
        install = _read_install(host, home, tuple(names))
        if install is not None:
            found.append(install)
    return _merged(found), unclear


def _merged(found: list[CannInstall]) -> list[CannInstall]:
    """Up to 8.3 `latest` is a folder of links into the versioned one: both are the same installation.

    The install file names the versioned folder; where that was found as well, the other becomes an alias.
    """
    by_home = {install.home: install for install in found}
    for install in found:
        named = install.info.fields.get("path", "") if install.info else ""
        home = posixpath.dirname(named) if named.endswith(layout.places("cann.arch_folder")) else named
        other = by_home.get(home)
        if other is not None and home != install.home and other.version == install.version:
            aliases = (*other.aliases, install.home, *install.aliases)
            by_home[home] = dataclasses.replace(other, aliases=aliases)
            del by_home[install.home]
    return list(by_home.values())


def _read_install(host: Host, home: str, names: tuple[str, ...]) -> CannInstall | None:
    """One installation; None when the folder holds no version file of any generation."""
    inside = set(host.list(home).data or ())
    info, place = _version(host, home, inside)
    if info is None:
        return None
    kernels = host.list(f"{home}/{layout.place('cann.kernels')}")
    chips = leaf_of(kernels, lambda names: tuple(n for n in names if n.startswith("ascend")))
    return CannInstall(
        home=home,
        version=info.version,
        place=place,
        level=info.fields.get("innerversion", ""),
        arch=info.fields.get("arch", ""),
        layout="ascend-toolkit" if "/ascend-toolkit" in home else "cann",
        ops_version=_ops_version(host, home, inside),
        chips=value(chips, ()),
        ops_known=decided(chips),
        info=info,
        parts=frozenset(p for p in layout.places("cann.part") if p in inside),
        aliases=tuple(n for n in names if n != home),
    )


def _version(host: Host, home: str, inside: set[str]) -> tuple[VersionInfo | None, str]:
    """The first version file that parses: install info, version.cfg, then the components' own files."""
    places = [
        (f"{home}/{arch}/ascend_toolkit_install.info", parse.cann_install_info)
        for arch in layout.places("cann.arch_folder")
        if arch in inside
    ]
    places += [
        (f"{home}/ascend_{kind}_install.info", parse.cann_install_info)
        for kind in ("toolkit", "nnae", "nnrt")
        if f"ascend_{kind}_install.info" in inside
    ]
    if "version.cfg" in inside:
        places.append((f"{home}/version.cfg", parse.version_cfg))
    for part in layout.places("cann.component"):
        if part in inside:
            places.append((f"{home}/{part}/version.info", parse.component_info))
    if "share" in inside:
        names = layout.places("cann.component")
        places += [(f"{home}/share/info/{n}/version.info", parse.component_info) for n in names]
    for path, reader in places:
        found = value(leaf_of(host.read(path), reader))
        if found is not None:
            return found, path
    return None, ""


def _ops_version(host: Host, home: str, inside: set[str]) -> str | None:
    """Version of the kernels package (up to 8.3) or of the ops package (8.5 and later), None if absent."""
    places = [f"{home}/opp_kernel/version.info"] if "opp_kernel" in inside else []
    if "share" in inside:
        names = host.list(f"{home}/share/info").data or ()
        places += [
            f"{home}/share/info/{n}/version.info"
            for n in names
            if n.startswith(("opp_kernel", "ops")) or n.endswith("-ops")
        ]
    for path in places:
        found = value(leaf_of(host.read(path), parse.component_info))
        if found is not None:
            return str(found.version)
    return None


def _atb(place: str, text: str) -> tuple[str, str]:
    return place, parse.atb_version(text) or ""


def _nnal(host: Host, environ: Mapping[str, str], root: str) -> Leaf[tuple[str, str]]:
    """(folder of ATB, its version); its set_env.sh exports ATB_HOME_PATH."""
    leaves = []
    bases = [f"{environ.get('HOME', '')}/Ascend", root, "/usr/local/Ascend"]
    for base in dict.fromkeys(b for b in bases if b.startswith("/") and b != "/Ascend"):
        atb = f"{base}/{layout.place('nnal.atb')}"
        leaves.append(
            leaf_of(
                host.read(f"{atb}/latest/version.info"),
                functools.partial(_atb, atb),
            )
        )
    for leaf in leaves:
        if isinstance(leaf, Known):
            return leaf
    unclear = [leaf for leaf in leaves if not decided(leaf)]
    return unclear[0] if unclear else leaves[-1]


def _homes_on_path(
    host: Host,
    environ: Leaf[Mapping[str, str]],
    libraries: list[str],
    installs: list[CannInstall],
) -> Leaf[tuple[str, ...]]:
    """Homes of the installs whose `lib64` the loader searches, in its order."""
    if not decided(environ):
        return environ  # type: ignore[return-value]
    homes = {name: i.home for i in installs for name in (i.home, *i.aliases)}
    arches = layout.places("cann.arch_folder")
    homes.update({f"{name}/{arch}": home for name, home in list(homes.items()) for arch in arches})
    parents = [posixpath.dirname(p.rstrip("/")) for p in libraries if p.rstrip("/").endswith("/lib64")]
    return Known(tuple(dict.fromkeys(homes[p] for p in parents if p in homes)), "LD_LIBRARY_PATH")


def _hal_on_path(host: Host, libraries: list[str]) -> bool | None:
    """Whether a folder that is no stub holds libascend_hal.so; None when there is nothing to look at."""
    real = [p.rstrip("/") for p in libraries if "driver" in p and "stub" not in p]
    return any(host.stat(f"{p}/libascend_hal.so").ok for p in real) if real else None


PROBE = Probe("cann", collect, after=("env", "driver"))
