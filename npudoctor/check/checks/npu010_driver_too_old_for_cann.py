"""The driver does not carry this CANN: by their own files first, then by the vendor's matrix."""

from __future__ import annotations

from npudoctor.check.api import (
    CannInstall,
    Check,
    DriverRelation,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Skip,
    Tables,
    Text,
    VersionInfo,
    c_level,
    cann_in_use,
    carried_fixes,
    device_works,
    driver_relation,
    driver_seen,
    evidence,
)

TITLE = Text("driver {driver} does not carry CANN {cann}", "驱动 {driver} 不支持 CANN {cann}")
MATRIX_CAUSE = Text(
    "the vendor's list for CANN {row} starts at driver {minimum} (table of {date}, strength: {strength})",
    "厂商为 CANN {row} 列出的驱动最低为 {minimum}（{date} 的数据表，依据强度：{strength}）",
)
FORBIDDEN_CAUSE = Text(
    "the vendor's matrix for CANN {row} excludes this driver (table of {date}, strength: {strength})",
    "厂商的 CANN {row} 配套矩阵明确排除此驱动（{date} 的数据表，依据强度：{strength}）",
)
UPGRADE_FIX = Text(
    "upgrade the driver and firmware on the host to {wanted} or later, then reboot",
    "在主机上将驱动与固件升级到 {wanted} 或更高版本，然后重启",
)
RENTED_FIX = Text(
    "where the host is not yours, ask the provider for that driver, or use a CANN this driver carries "
    "({carried}) "
    "with its torch_npu",
    "若主机不归你管理：请提供方升级驱动，或改用此驱动支持的 CANN（{carried}）及其配套的 torch_npu",
)
UNLISTED_REASON = Text(
    "CANN {cann} with driver {driver} is unknown to the table of {date}",
    "{date} 的数据表中没有 CANN {cann} 与驱动 {driver} 的记录",
)
_BAD = {DriverRelation.INCOMPATIBLE: FORBIDDEN_CAUSE, DriverRelation.TOO_OLD: MATRIX_CAUSE}


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A match on either side's declared C-levels is enough; without one the table judges."""
    install, seen = cann_in_use(machine), driver_seen(machine)
    if install is None or seen is None:
        return
    driver = seen[0]
    if _declared_match(driver, install):
        return
    relation = driver_relation(tables, install.version, driver.version)
    if relation in _BAD:
        yield _finding(machine, tables, install, seen, relation)
    elif relation in (DriverRelation.UNKNOWN, DriverRelation.OLDER_THAN_PAIRED):
        raise Skip(UNLISTED_REASON, _params(install, driver, tables))


def _params(install: CannInstall, driver: VersionInfo, tables: Tables) -> dict[str, object]:
    return {"cann": install.version, "driver": driver.version, "date": tables.driver_date}


def _declared_match(driver: VersionInfo, install: CannInstall) -> bool:
    """Whether the driver's list holds CANN's level, or CANN's list the driver's."""
    theirs = {c_level(lo) for lo, _ in driver.ranges("compatible_version")}
    ours = {c_level(lo) for lo, _ in install.info.ranges("compatible_version")} if install.info else set()
    level, driver_level = c_level(install.level), c_level(driver.fields.get("Innerversion", ""))
    return bool((level and level in theirs) or (driver_level and driver_level in ours))


def _finding(
    machine: Machine,
    tables: Tables,
    install: CannInstall,
    seen: tuple[VersionInfo, str],
    relation: DriverRelation,
) -> Finding:
    driver, place = seen
    minimum = tables.driver_minimum(install.version).value
    row = tables.driver_row(install.version).value
    wanted = minimum.version if minimum else "?"
    carried = ", ".join(r.cann for r in tables.cann_for_driver(driver.version)[:3])
    params = {
        **_params(install, driver, tables),
        "row": row.cann if row else "?",
        "minimum": wanted,
        "wanted": wanted,
        "strength": row.strength if row else "?",
        "carried": carried or "npudoctor pair",
    }
    # Only an official yes/no matrix is certain enough for an error; a chip that computes is right anyway.
    certain = row is not None and row.strength == "official" and not device_works(machine)
    return CHECK.found(
        Severity.ERROR if certain else Severity.WARNING,
        TITLE,
        _BAD[relation],
        params,
        fixes=(
            Fix(UPGRADE_FIX, needs_root=True, host_only=True),
            *carried_fixes(machine, tables, driver.version),
            Fix(RENTED_FIX, (f"npudoctor pair --driver {driver.version}",)),
        ),
        evidence=(
            evidence(place, driver.version),
            evidence(install.place, install.version),
            *((evidence(row.provenance.url, row.strength),) if row else ()),
        ),
    )


CHECK = Check(
    "NPU010",
    "driver-too-old-for-cann",
    Text("the driver carries this CANN", "驱动支持此 CANN"),
    needs=("driver.info", "cann.installs"),
    run=run,
    explained_by=("NPU003", "NPU005"),
    applies=lambda m: driver_seen(m) is not None and cann_in_use(m) is not None,
    sources=("https://www.hiascend.com/document/detail/zh/mindie/21RC1/releasenote/releasenote_0004.html",),
)
