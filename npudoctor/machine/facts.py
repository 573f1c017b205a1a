"""The facts about a machine: a frozen tree whose leaves say what is known, absent, or why it is neither.

A leaf is one of
    Known(value, place)     found, with the place as evidence
    Absent(place)           looked for, and not there
    Denied, TimedOut, Unparsed, NotRecorded    could not be known; checks that need it do not judge
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Union

T = TypeVar("T")


@dataclass(frozen=True)
class Known(Generic[T]):
    """A value and the place it was read from."""

    value: T
    place: str = ""


@dataclass(frozen=True)
class Absent:
    """Looked for at `place`, and not there."""

    place: str = ""


@dataclass(frozen=True)
class Unknown:
    """Could not be found out; `detail` says how it failed."""

    place: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Denied(Unknown):
    """The machine refused the question."""


@dataclass(frozen=True)
class TimedOut(Unknown):
    """The answer did not come in time."""


@dataclass(frozen=True)
class Unparsed(Unknown):
    """There was an answer that nobody understood."""


@dataclass(frozen=True)
class NotRecorded(Unknown):
    """The bundle does not hold the answer, or the question was switched off."""


Leaf = Union[Known[T], Absent, Unknown]
CHIP_NODES = ("/dev/davinci", "/dev/vdavinci")  # and a number behind it
NOT_ASKED = NotRecorded("", "not-recorded")


def value(leaf: Leaf[T], default: Any = None) -> Any:
    """The value of a `Known` leaf, else `default`."""
    return leaf.value if isinstance(leaf, Known) else default


def decided(leaf: Any) -> bool:
    """Whether the leaf answers its question (a plain value always does)."""
    return not isinstance(leaf, Unknown)


def at(machine: Machine, path: str) -> Any:
    """The leaf or node at a dotted path such as `driver.version`."""
    return _getter(path)(machine)


@functools.lru_cache(maxsize=256)
def _getter(path: str) -> operator.attrgetter[Any]:
    return operator.attrgetter(path)


@dataclass(frozen=True)
class Os:
    """Operating system: distribution name, kernel release, C library, architecture, what encloses it."""

    arch: Leaf[str] = NOT_ASKED
    kernel: Leaf[str] = NOT_ASKED
    distribution: Leaf[str] = NOT_ASKED
    glibc: Leaf[str] = NOT_ASKED
    container: Leaf[str] = NOT_ASKED  # Known("docker"), or Absent on a host
    kubernetes: bool = False


@dataclass(frozen=True)
class User:
    """The user this process runs as; `cap_eff` is the effective capability mask (-1: not known)."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    group_names: tuple[str, ...]
    cap_eff: int = -1


@dataclass(frozen=True)
class PciDevice:
    """One PCI function of the NPU vendor."""

    address: str
    device: str
    subsystem: str


@dataclass(frozen=True)
class VersionInfo:
    """A vendor version file: every `key=value` of it, and the version people name."""

    version: str
    fields: Mapping[str, str]

    def ranges(self, key: str) -> tuple[tuple[str, str], ...]:
        """The closed ranges `[lo,hi],...` that the file declares under `key`; `[x]` is (x, x)."""
        from npudoctor.machine.parsers.version_info import ranges

        return ranges(self.fields.get(key, ""))


@dataclass(frozen=True)
class Driver:
    """The NPU driver: its own version file, user libraries, kernel modules, install record."""

    root: str = "/usr/local/Ascend"
    info: Leaf[VersionInfo] = NOT_ASKED
    libraries: Leaf[str] = NOT_ASKED  # path of libascend_hal.so
    modules: Leaf[tuple[str, ...]] = NOT_ASKED
    install: Leaf[Mapping[str, str]] = NOT_ASKED
    dcmi: Leaf[str] = NOT_ASKED


@dataclass(frozen=True)
class Chip:
    """One row pair of `npu-smi info`; None stands for NA, a dash or a masked cell."""

    npu: int
    chip: int
    name: str
    health: str
    bus_id: str | None = None
    phy_id: int | None = None
    power_w: float | None = None
    temp_c: int | None = None
    aicore_pct: int | None = None
    hugepages_used: int | None = None
    hugepages_total: int | None = None
    memory_kind: str | None = None  # hbm or ddr
    memory_used_mb: int | None = None
    memory_total_mb: int | None = None
    ddr_used_mb: int | None = None
    ddr_total_mb: int | None = None


@dataclass(frozen=True)
class Process:
    """A process that npu-smi saw on a chip."""

    npu: int
    chip: int | None
    pid: int
    name: str
    memory_mb: int | None


@dataclass(frozen=True)
class SmiInfo:
    """`npu-smi info`, parsed; `chips` is empty when it printed no table."""

    tool_version: str | None
    driver_version: str | None
    chips: tuple[Chip, ...]
    processes: tuple[Process, ...]


@dataclass(frozen=True)
class SmiFailure:
    """`npu-smi` did not work: DCMI code if it named one, exit status, and its words."""

    code: int | None
    exit: int | None
    text: str


@dataclass(frozen=True)
class NpuSmi:
    """The vendor's tool: where it is, what it said."""

    path: Leaf[str] = NOT_ASKED
    not_a_file: str = ""  # a path where npu-smi should be and a folder is
    info: Leaf[SmiInfo] = NOT_ASKED
    failure: Leaf[SmiFailure] = NOT_ASKED
    logic_ids: Leaf[Mapping[tuple[int, int], int]] = NOT_ASKED
    board: Leaf[Mapping[str, str]] = NOT_ASKED
    errors: Mapping[tuple[int, int], str] = field(default_factory=dict)  # of chips that are not OK


@dataclass(frozen=True)
class Node:
    """A device node; `opened` is `ok` or the errno name that open(2) gave."""

    path: str
    mode: str
    uid: int
    gid: int
    owner: str
    group: str
    opened: str


@dataclass(frozen=True)
class CannInstall:
    """One CANN installation.

    Attributes:
        home: real path of the folder that holds `lib64`, `opp`, `compiler`.
        version: as its files name it, e.g. `8.2.RC1`.
        level: C-level such as `V100R001C22SPC001B231`, or empty.
        arch: architecture in the install file, or empty.
        layout: `cann` (8.5 and later) or `ascend-toolkit`.
        ops_version: version of the kernels / ops package, or None.
        chips: kernel folders present, such as `ascend910b`.
        ops_known: whether the ops folders could be looked at.
        info: the install file, for the ranges it declares.
        parts: subfolders that exist among those torch_npu demands.
    """

    home: str
    version: str
    place: str
    level: str = ""
    arch: str = ""
    layout: str = ""
    ops_version: str | None = None
    chips: tuple[str, ...] = ()
    ops_known: bool = True
    info: VersionInfo | None = None
    parts: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cann:
    """All CANN installations, and what the environment points at."""

    installs: Leaf[tuple[CannInstall, ...]] = NOT_ASKED
    nnal: Leaf[tuple[str, str]] = NOT_ASKED  # (root of atb, version)
    on_library_path: Leaf[tuple[str, ...]] = NOT_ASKED  # homes whose lib64 is on LD_LIBRARY_PATH, in order
    stub_paths: tuple[str, ...] = ()  # devlib / stub folders on LD_LIBRARY_PATH
    home_exists: bool | None = None  # whether ASCEND_HOME_PATH, if set, is there
    opp_exists: bool | None = None  # whether ASCEND_OPP_PATH, if set, is there
    opp_home: str = ""  # real folder above ASCEND_OPP_PATH
    hal_elsewhere: bool | None = None  # the linker finds libascend_hal.so by LD_LIBRARY_PATH

    def active(self) -> CannInstall | None:
        """The install whose libraries the loader will take, or None."""
        homes = value(self.on_library_path, ())
        for home in homes:
            for install in value(self.installs, ()):
                if home == install.home or home in install.aliases:
                    return install
        return None

    def in_use(self) -> CannInstall | None:
        """The CANN that programs started here would load; when none is set up, the only one installed."""
        installs = value(self.installs, ())
        return self.active() or (installs[0] if len(installs) == 1 else None)


@dataclass(frozen=True)
class Distribution:
    """An installed Python distribution, read from its metadata and never imported."""

    name: str
    version: str
    location: str
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    build: str = ""  # __version__ in torch/version.py, with its +cpu / +cu suffix
    extensions: tuple[str, ...] = ()  # file names of torch_npu/_C*.so
    entry_points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Python:
    """The interpreter that is diagnosed."""

    executable: str = ""
    version: Leaf[str] = NOT_ASKED
    implementation: str = ""
    arch: str = ""
    kind: str = ""  # venv, conda, system
    soabi: str = ""
    packages: Leaf[Mapping[str, tuple[Distribution, ...]]] = NOT_ASKED

    def first(self, name: str) -> Distribution | None:
        """The copy of a package that Python would import, or None."""
        copies = value(self.packages, {}).get(name, ())
        return copies[0] if copies else None


@dataclass(frozen=True)
class ImportRun:
    """One child process that imported something: what came of it.

    `error` is the innermost exception (`ImportError: libhccl.so: ...`), `outer` the last
    one; both empty when it worked. `signal` is the signal's number or 0.
    """

    ok: bool
    error: str = ""
    outer: str = ""
    signal: int = 0
    exit: int | None = 0
    tail: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComputeRun:
    """The compute probe: ones(8)+ones(8) on every visible device."""

    available: bool | None
    count: int | None
    results: tuple[str, ...] = ()  # per device `ok`, `wrong: ...` or the error
    error: str = ""
    signal: int = 0
    exit: int | None = 0
    tail: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probes:
    """What happened when child processes imported and computed."""

    torch: Leaf[ImportRun] = NOT_ASKED  # as a user does it, autoload as the environment says
    torch_plain: Leaf[ImportRun] = NOT_ASKED  # autoload switched off
    torch_npu: Leaf[ImportRun] = NOT_ASKED
    compute: Leaf[ComputeRun] = NOT_ASKED


@dataclass(frozen=True)
class Machine:
    """Everything known about one computer and one Python on it."""

    os: Os = field(default_factory=Os)
    user: Leaf[User] = NOT_ASKED
    env: Leaf[Mapping[str, str]] = NOT_ASKED
    pci: Leaf[tuple[PciDevice, ...]] = NOT_ASKED
    driver: Driver = field(default_factory=Driver)
    firmware: Leaf[VersionInfo] = NOT_ASKED
    nodes: Leaf[tuple[Node, ...]] = NOT_ASKED
    npu_smi: NpuSmi = field(default_factory=NpuSmi)
    cann: Cann = field(default_factory=Cann)
    python: Python = field(default_factory=Python)
    probes: Probes = field(default_factory=Probes)
    hccn_conf: Leaf[str] = NOT_ASKED
    hccn_tool: Leaf[str] = NOT_ASKED
    docker_runtime: Leaf[str] = NOT_ASKED  # folder of Ascend Docker Runtime

    def var(self, name: str) -> str | None:
        """An environment variable, None when unset (or when the environment is not known)."""
        return value(self.env, {}).get(name)

    def chip_nodes(self) -> tuple[Node, ...]:
        """The nodes of chips (`/dev/davinci0`, virtual ones too), without the managing nodes."""
        chips = (n for n in value(self.nodes, ()) if n.path.startswith(CHIP_NODES))
        return tuple(n for n in chips if n.path[-1].isdecimal())
