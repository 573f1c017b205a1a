"""npu-smi gave no answer within its limit."""

from __future__ import annotations

from npudoctor.check.api import (
    ASK_HOST,
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Severity,
    Tables,
    Text,
    TimedOut,
    device_works,
    evidence,
)

TITLE = Text("npu-smi does not answer", "npu-smi 没有响应")
CAUSE = Text(
    "it was stopped at its time limit; a chip that is being reset or has died, or a driver that is stuck, "
    "makes it wait for ever",
    "到达时间上限后已将其终止；芯片正在复位、芯片已失效或驱动卡死都会使其一直等待",
)
FIX = Text(
    "on the host, look for processes in state D and at the driver's messages; a reset or reboot may "
    "be needed",
    "在主机上查看处于 D 状态的进程和驱动日志；可能需要复位或重启",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """The info leaf timed out."""
    if not isinstance(machine.npu_smi.info, TimedOut):
        return
    yield CHECK.found(
        Severity.WARNING if device_works(machine) else Severity.ERROR,
        TITLE,
        CAUSE,
        fixes=(
            Fix(
                FIX,
                ("ps -eo pid,stat,cmd | awk '$2 ~ /D/'", "dmesg | tail -50"),
                needs_root=True,
                host_only=True,
            ),
            ASK_HOST,
        ),
        evidence=(evidence("npu-smi info", "timeout"),),
    )


CHECK = Check(
    "NPU018",
    "npu-smi-hangs",
    Text("npu-smi answers in time", "npu-smi 及时响应"),
    needs=("npu_smi.path",),
    run=run,
    applies=lambda m: isinstance(m.npu_smi.path, Known),
    sources=("https://github.com/hicann/driver",),
)
