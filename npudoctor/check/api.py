"""All that a check may import: what a check is, and questions that many checks ask of the facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from npudoctor.check.lookups import TOOLKIT_LIBRARY, families, needs, ops_package, python_limit, variables
from npudoctor.check.pairs import (
    best_install,
    carried_fixes,
    device_ids,
    driver_relation,
    driver_seen,
    flagged_variables,
    import_error,
    pip_pair,
    python_minor,
    relation_to,
    set_fixes,
    torch_npu_version,
    torch_pin,
    with_effects,
)
from npudoctor.core.finding import Evidence, Finding, Fix, Place, Severity
from npudoctor.core.text import Text
from npudoctor.machine.facts import (
    Absent,
    CannInstall,
    Chip,
    Known,
    Leaf,
    Machine,
    Node,
    NotRecorded,
    TimedOut,
    Unknown,
    VersionInfo,
    decided,
    value,
)
from npudoctor.machine.parsers.version_info import c_level, in_ranges
from npudoctor.pairing.table import DriverRelation, Relation, Tables
from npudoctor.pairing.versions import package, public, same_series, vendor

__all__ = [
    "ASK_HOST",
    "TOOLKIT_LIBRARY",
    "Absent",
    "CannInstall",
    "Check",
    "Chip",
    "DriverRelation",
    "Evidence",
    "Finding",
    "Fix",
    "Iterable",
    "Known",
    "KnownError",
    "Leaf",
    "Machine",
    "Node",
    "NotRecorded",
    "Place",
    "Relation",
    "Severity",
    "Skip",
    "Tables",
    "Text",
    "TimedOut",
    "Unknown",
    "VersionInfo",
    "best_install",
    "c_level",
    "cann_in_use",
    "carried_fixes",
    "chip_nodes",
    "chips",
    "decided",
    "device_ids",
    "device_works",
    "driver_relation",
    "driver_seen",
    "evidence",
    "explain_command",
    "families",
    "flagged_variables",
    "has_npu_software",
    "import_error",
    "in_container",
    "in_ranges",
    "misused_variables",
    "needs",
    "ops_package",
    "package",
    "pip",
    "pip_pair",
    "public",
    "python_limit",
    "python_minor",
    "refused_nodes",
    "relation_to",
    "said",
    "same_series",
    "seen_hardware",
    "set_env",
    "set_fixes",
    "torch_npu_version",
    "torch_pin",
    "value",
    "variables",
    "vendor",
    "why",
    "with_effects",
]


ASK_HOST = Fix(
    Text(
        "where you do not run the host (rented machine, container): send a recording to whoever does, "
        "or take another machine",
        "如果主机不归你管理（租用的机器、容器）：把录制文件发给管理方，或换一台机器",
    ),
    ("npudoctor check --record machine.json",),
)


class Skip(Exception):
    """The facts are there but do not allow a judgement; `reason` says why, in both languages."""

    def __init__(self, reason: Text, params: Mapping[str, object] | None = None) -> None:
        super().__init__(reason.render("en", params))
        self.reason = reason
        self.params = dict(params or {})


@dataclass(frozen=True)
class Check:
    """One thing that can be wrong with a machine.

    Attributes:
        code: `NPU0xx`; the number is also the place in the chain of causes, lower is nearer the root.
        slug: name of the fault.
        title: what the check looks at, one line (shown when it passed or could not run).
        needs: dotted fact paths that must be decided, else the check is *not checked*.
        run: yields findings from the facts and the pairing tables; may raise `Skip`.
        explained_by: codes whose finding makes a finding of this check a consequence.
        applies: whether the check means anything on this machine (asked after `needs`).
        sources: addresses of what the check relies on.
    """

    code: str
    slug: str
    title: Text
    needs: tuple[str, ...]
    run: Callable[[Machine, Tables], Iterable[Finding]]
    explained_by: tuple[str, ...] = ()
    applies: Callable[[Machine], bool] = field(default=lambda machine: True)
    sources: tuple[str, ...] = ()

    def found(
        self,
        severity: Severity,
        title: Text,
        cause: Text,
        params: Mapping[str, object] | None = None,
        *,
        fixes: tuple[Fix, ...] = (),
        evidence: tuple[Evidence, ...] = (),
        place: str | None = None,
    ) -> Finding:
        """A finding of this check."""
        return Finding(
            self.code,
            self.slug,
            severity,
            title,
            cause,
            Place(place) if place else None,
            dict(params or {}),
            evidence,
            fixes,
            self.sources,
        )


class KnownError(NamedTuple):
    """One way for something to fail: what its error says, why it fails so, and what to do."""

    pattern: re.Pattern[str]
    cause: Text
    fix: Text
    commands: tuple[str, ...] = ()


def why(error: str, known: Iterable[KnownError]) -> tuple[Text, Fix] | None:
    """Cause and fix of the first known error that is in `error`."""
    found = next((one for one in known if one.pattern.search(error)), None)
    return None if found is None else (found.cause, Fix(found.fix, found.commands))


def evidence(place: str, words: object) -> Evidence:
    """One observation, shortened to what a line can hold."""
    text = str(words)
    return Evidence(place, text if len(text) <= 300 else text[:297] + "...")


def misused_variables(
    check: Check, machine: Machine, role: str, title: Text, cause: Text, note: Text, *more: str
) -> Iterable[Finding]:
    """One warning of `check` for all variables that `env_vars.tsv` flags in this role.

    `title` has the parameter `names`; the effect of each variable follows `cause`; the fix
    unsets them and then runs `more`.
    """
    rows = flagged_variables(machine, role)
    if not rows:
        return
    names = [row["name"] for row in rows]
    yield check.found(
        Severity.WARNING,
        title,
        with_effects(cause, rows),
        {"names": ", ".join(f"{n}={machine.var(n)}" for n in names)},
        fixes=(Fix(note, (f"unset {' '.join(names)}", *more)),),
        evidence=tuple(evidence(name, machine.var(name)) for name in names),
    )


def said(tail: tuple[str, ...], lines: int) -> tuple[Evidence, ...]:
    """The last lines that a probe printed."""
    return tuple(evidence("output", line) for line in tail[-lines:])


def pip(machine: Machine) -> str:
    """pip of the interpreter under diagnosis, as the start of a command."""
    return f"{machine.python.executable or 'python'} -m pip"


def explain_command(machine: Machine, script: str) -> str:
    """Run a line of Python with the interpreter under diagnosis and have its output explained."""
    return f"{machine.python.executable or 'python'} -c '{script}' 2>&1 | npudoctor explain -"


def in_container(machine: Machine) -> bool:
    """Whether this process is known to run in a container."""
    return isinstance(machine.os.container, Known)


def seen_hardware(machine: Machine) -> bool:
    """Whether anything shows that an NPU is attached: PCI bus, device nodes, or npu-smi's table."""
    return bool(value(machine.pci) or chip_nodes(machine) or chips(machine))


def chip_nodes(machine: Machine) -> tuple[Node, ...]:
    """The nodes of chips (`/dev/davinci0`, virtual ones too), without the managing nodes."""
    return machine.chip_nodes()


def chips(machine: Machine) -> tuple[Chip, ...]:
    """The chips that npu-smi lists; empty when it could not be asked."""
    info = value(machine.npu_smi.info)
    return info.chips if info is not None else ()


def has_npu_software(machine: Machine) -> bool:
    """Whether torch_npu or CANN is installed: somebody means to use an NPU here."""
    return machine.python.first("torch-npu") is not None or bool(value(machine.cann.installs))


def cann_in_use(machine: Machine) -> CannInstall | None:
    """The CANN that programs started here would load; when none is set up, the only one installed."""
    return machine.cann.in_use()


def set_env(install: CannInstall) -> str:
    """Path of the set_env.sh that belongs to an installation."""
    if install.layout == "ascend-toolkit":
        return install.home.rsplit("/", 1)[0] + "/set_env.sh"
    return f"{install.home}/set_env.sh"


def device_works(machine: Machine) -> bool:
    """Whether the compute probe ran and every visible device gave the right sum."""
    run = value(machine.probes.compute)
    return bool(run is not None and run.available and run.results and set(run.results) == {"ok"})


def refused_nodes(machine: Machine, error: str) -> tuple[Node, ...]:
    """The nodes that open(2) refused with this errno; none where the device computes regardless.

    Nodes that only some tools use (`devmm_svm_agent`, `dvpp_cmdlist`) do not count alone.
    """
    refused = [n for n in value(machine.nodes, ()) if n.opened == error]
    needed = [n for n in refused if not n.path.endswith(("_agent", "dvpp_cmdlist"))]
    return () if device_works(machine) or not needed else tuple(refused)
