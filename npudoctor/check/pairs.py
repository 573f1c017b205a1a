"""Questions about versions that several checks ask: pins, relations, the pip line of a pair."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from npudoctor.check.lookups import variables
from npudoctor.core.finding import Fix
from npudoctor.core.text import Text
from npudoctor.machine.facts import CannInstall, Distribution, Known, Machine, VersionInfo, value
from npudoctor.pairing.advice import driver_set_fix, set_fix
from npudoctor.pairing.install import PIP, pair_commands
from npudoctor.pairing.rows import PairRow
from npudoctor.pairing.solve import Query
from npudoctor.pairing.table import WORKS, DriverRelation, Relation, Tables
from npudoctor.pairing.versions import vendor


def torch_pin(package: Distribution) -> SpecifierSet | None:
    """The exact torch that a package's metadata demands, local part left out; None without such a pin."""
    for text in package.requires:
        try:
            wanted = Requirement(re.sub(r"(\d)\+[\w.]+", r"\1", text))
        except InvalidRequirement:
            continue
        if wanted.name == "torch" and str(wanted.specifier).startswith("=="):
            return wanted.specifier
    return None


def relation_to(tables: Tables, row: PairRow, install: CannInstall) -> Relation:
    """How an installed CANN stands to a torch_npu release; UNKNOWN when its version does not parse."""
    try:
        return tables.relation(row, install.version)
    except ValueError:
        return Relation.UNKNOWN


@functools.lru_cache(maxsize=4096)
def driver_relation(tables: Tables, cann: str, driver: str) -> DriverRelation:
    """How a driver stands to a CANN release by the table; UNKNOWN when a version does not parse."""
    try:
        return tables.driver_relation(cann, driver)
    except ValueError:
        return DriverRelation.UNKNOWN


def best_install(machine: Machine, tables: Tables) -> CannInstall:
    """Of the installs there are, the one that fits torch_npu, else the newest. Needs at least one."""
    installs: tuple[CannInstall, ...] = value(machine.cann.installs)
    package = machine.python.first("torch-npu")
    row = tables.row_for_torch_npu(package.version).value if package and package.version else None

    def rank(install: CannInstall) -> tuple[bool, bool, object]:
        relation = relation_to(tables, row, install) if row else Relation.UNKNOWN
        try:
            newest: object = vendor(install.version)
        except ValueError:
            newest = vendor("0.0")
        return relation is Relation.PAIRED, relation in WORKS, newest

    return max(installs, key=rank)


def pip_pair(machine: Machine, torch: str, torch_npu: str) -> tuple[str, ...]:
    """The pip commands that install a pair for the interpreter under diagnosis."""
    return _for_this_python(machine, pair_commands(torch, torch_npu, _arch(machine)))


def set_fixes(machine: Machine, tables: Tables, **given: str | None) -> tuple[Fix, ...]:
    """The best documented set for the given parts (`cann`, `python`, `torch_npu`, ...), as a fix or none.

    A set that this machine's driver does not carry would only exchange one fault for another: where
    there is no other for these parts, the newest set that the driver does carry stands beside it.
    """
    arch, seen = _arch(machine), driver_seen(machine)
    driver = seen[0].version if seen else ""
    carried = _set_fix(tables, Query(**given, driver=driver), arch) if driver else None
    found = carried or _set_fix(tables, Query(**given), arch)
    ways = (_in_this_python(machine, found),) if found else ()
    return ways if carried or not driver else (*ways, *carried_fixes(machine, tables, driver))


def driver_seen(machine: Machine) -> tuple[VersionInfo, str] | None:
    """The driver by its own file, else the version that npu-smi's header states, and the place of it.

    Containers often lack the file; the header declares no ranges.
    """
    if isinstance(machine.driver.info, Known):
        return machine.driver.info.value, machine.driver.info.place
    smi = value(machine.npu_smi.info)
    if smi is not None and smi.driver_version:
        return VersionInfo(smi.driver_version, {}), "npu-smi info"
    return None


def carried_fixes(machine: Machine, tables: Tables, driver: str) -> tuple[Fix, ...]:
    """The newest documented set that the driver carries, for those who cannot change it."""
    fix = _carried_fix(tables, driver, _arch(machine), python_minor(machine) or None)
    return (_in_this_python(machine, fix),) if fix else ()


# A fleet asks the same few questions thousands of times.
@functools.lru_cache(maxsize=1024)
def _set_fix(tables: Tables, query: Query, arch: str) -> Fix | None:
    try:
        found = set_fix(tables, query, arch)
    except ValueError:
        return None
    return found.fix if found else None


@functools.lru_cache(maxsize=1024)
def _carried_fix(tables: Tables, driver: str, arch: str, python: str | None) -> Fix | None:
    try:
        found = driver_set_fix(tables, driver, arch, python)
    except ValueError:
        return None
    return found.fix if found else None


def _in_this_python(machine: Machine, fix: Fix) -> Fix:
    """The same commands for the interpreter under diagnosis."""
    return dataclasses.replace(fix, commands=_for_this_python(machine, fix.commands))


def _for_this_python(machine: Machine, commands: tuple[str, ...]) -> tuple[str, ...]:
    pip = PIP.replace("python", machine.python.executable or "python", 1)
    return tuple(pip + c[len(PIP) :] if c.startswith(PIP) else c for c in commands)


def _arch(machine: Machine) -> str:
    return "x86_64" if value(machine.os.arch) == "x86_64" else "aarch64"


def python_minor(machine: Machine) -> str:
    """`3.11` of the interpreter under diagnosis, empty when it is not known."""
    return ".".join(str(value(machine.python.version, "")).split(".")[:2])


def torch_npu_version(machine: Machine) -> str | None:
    """Version of the installed torch_npu, None when it is not there or has no metadata."""
    package = machine.python.first("torch-npu")
    return package.version or None if package else None


def import_error(machine: Machine) -> str:
    """The innermost error of importing torch_npu (or torch, which loads it); empty when it worked."""
    for leaf in (machine.probes.torch_npu, machine.probes.torch):
        seen = value(leaf)
        if seen is not None and seen.error:
            return str(seen.error)
    return ""


def device_ids(mask: str) -> tuple[int, ...] | None:
    """The numbers of a device list; None when it holds something else."""
    parts = [part.strip() for part in mask.split(",")]
    if not all(part.isdecimal() and len(part) < 10 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def flagged_variables(machine: Machine, role: str) -> tuple[Mapping[str, str], ...]:
    """Rows of `env_vars.tsv` whose variable is set to a value the row warns of."""
    return tuple(
        row
        for row in variables(role)
        if re.fullmatch(row["flagged"], machine.var(row["name"]) or "", re.DOTALL)
    )


def with_effects(lead: Text, rows: tuple[Mapping[str, str], ...]) -> Text:
    """`lead`, then what each of the variables does, in both languages."""
    return _with_effects(lead, tuple((r["name"], r["effect_en"], r["effect_zh"]) for r in rows))


@functools.lru_cache(maxsize=64)
def _with_effects(lead: Text, rows: tuple[tuple[str, str, str], ...]) -> Text:
    en = "; ".join(f"{name} {effect}" for name, effect, _ in rows)
    zh = "；".join(f"{name} {effect}" for name, _, effect in rows)
    return Text(f"{lead.en}: {en}", f"{lead.zh}：{zh}")
