"""Driver and firmware exclude each other by the ranges that their own files declare."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Severity,
    Tables,
    Text,
    VersionInfo,
    device_works,
    evidence,
    in_ranges,
    value,
)

TITLE = Text("driver {driver} and firmware {firmware} do not match", "驱动 {driver} 与固件 {firmware} 不匹配")
CAUSE = Text(
    "{who} declares the range {declared}, and the other is outside it",
    "{who} 声明的兼容范围为 {declared}，对方不在其中",
)
BOARD_CAUSE = Text(
    "the driver itself answers Compatibility: NOK (npu-smi info -t board)",
    "驱动自身的判断为 Compatibility: NOK（npu-smi info -t board）",
)
FIX = Text(
    "install the firmware of the same HDK package as the driver, then reboot",
    "安装与驱动同一 HDK 包的固件，然后重启",
)
RENTED_FIX = Text(
    "on a rented machine or in a container, report this to the provider: it cannot be mended from inside",
    "在租用的机器或容器里无法自行修复，请反馈给提供方",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """First the vendor files' own ranges, in both directions, then the driver's verdict from npu-smi."""
    driver, firmware = value(machine.driver.info), value(machine.firmware)
    board = value(machine.npu_smi.board, {})
    said = _declared(driver, firmware) if driver and firmware else None
    if said is None and board.get("Compatibility") == "NOK":
        said = BOARD_CAUSE, "npu-smi info -t board", "NOK"
    if said is None:
        return
    cause, who, declared = said
    running = firmware.version if firmware else board.get("Firmware Version", "?")
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        cause,
        {
            "driver": driver.version if driver else "?",
            "firmware": running,
            "who": who,
            "declared": declared,
        },
        fixes=(
            Fix(FIX, ("npu-smi info -t board -i 0",), needs_root=True, host_only=True),
            Fix(RENTED_FIX),
        ),
        evidence=(evidence(who, declared),),
    )


def _declared(driver: VersionInfo, firmware: VersionInfo) -> tuple[Text, str, str] | None:
    """What the two files say of each other; the driver's word comes first.

    The firmware's list names releases such as [23.0.0,23.0.0.] and is shipped with driver
    23.0.7: it is read by lines (major.minor), the narrowest reading that real pairs pass. It
    cannot know drivers newer than itself.
    """
    wanted = driver.ranges("compatible_version_fw")
    if wanted:
        declared = driver.fields["compatible_version_fw"]
        fits = in_ranges(firmware.version, wanted)
        return None if fits else (CAUSE, "driver/version.info", declared)
    lines = {_line(lo) for lo, _ in firmware.ranges("compatible_version_drv")}
    own = _line(driver.version)
    if lines and own not in lines and own < max(lines):
        return CAUSE, "firmware/version.info", firmware.fields["compatible_version_drv"]
    return None


def _line(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


CHECK = Check(
    "NPU007",
    "firmware-mismatch",
    Text("driver and firmware match", "驱动与固件匹配"),
    needs=("driver.info",),
    run=run,
    explained_by=("NPU003",),
    applies=lambda m: (
        isinstance(m.driver.info, Known)
        and (isinstance(m.firmware, Known) or isinstance(m.npu_smi.board, Known))
    ),
    sources=(
        "https://github.com/Ascend/mind-cluster/blob/master/docs/en/faultdiag/user_guide/03_collecting_logs.md",
    ),
)
