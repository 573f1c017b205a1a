"""A chip reports another health than OK."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Chip,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Severity,
    Tables,
    Text,
    chips,
    device_works,
    evidence,
)

TITLE = Text("chip {chip} reports health {health}", "芯片 {chip} 的健康状态为 {health}")
CAUSE = Text(
    "the driver watches sensors and error counters; Warning and Alarm chips may still compute, Critical ones "
    "should not be used",
    "驱动会监测传感器和错误计数；Warning、Alarm 状态的芯片可能仍可计算，Critical 则不应使用",
)
GARBLED_CAUSE = Text(
    "this is none of the words npu-smi uses (OK, Warning, Alarm, Critical, UNKNOWN): the output may be "
    "damaged",
    "这不是 npu-smi 使用的任何状态词（OK、Warning、Alarm、Critical、UNKNOWN）：输出可能已损坏",
)
FIX = Text(
    "ask for the error code of the chip and look it up; keep jobs off it when the alarm persists",
    "查询该芯片的错误码；若告警持续，请不要在其上运行任务",
)
_WORDS = ("Warning", "Alarm", "Critical", "UNKNOWN")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """One finding for each word; Critical, or an alarm where the sum fails, is an error."""
    for health in dict.fromkeys(chip.health for chip in chips(machine) if chip.health != "OK"):
        ill = [chip for chip in chips(machine) if chip.health == health]
        bad = health == "Critical" or (health == "Alarm" and _failed(machine))
        yield CHECK.found(
            Severity.ERROR if bad else Severity.WARNING,
            TITLE,
            CAUSE if health in _WORDS else GARBLED_CAUSE,
            {"chip": ", ".join(f"{c.npu}/{c.chip}" for c in ill), "health": health},
            fixes=(Fix(FIX, tuple(f"npu-smi info -t health -i {c.npu} -c {c.chip}" for c in ill[:8])),),
            evidence=tuple(
                evidence("npu-smi info", f"NPU {c.npu} chip {c.chip} {c.name}: {health}{_error(machine, c)}")
                for c in ill[:8]
            ),
        )


def _error(machine: Machine, chip: Chip) -> str:
    words = machine.npu_smi.errors.get((chip.npu, chip.chip))
    return f", error {words}" if words else ""


def _failed(machine: Machine) -> bool:
    return isinstance(machine.probes.compute, Known) and not device_works(machine)


CHECK = Check(
    "NPU020",
    "chip-health",
    Text("every chip is healthy", "所有芯片健康"),
    needs=("npu_smi.info",),
    run=run,
    applies=lambda m: bool(chips(m)),
    sources=("https://github.com/hicann/driver",),
)
