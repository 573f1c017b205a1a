"""The install record says that the driver's installation did not finish."""

from __future__ import annotations

from npudoctor.check.api import (
    ASK_HOST,
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    device_works,
    evidence,
    value,
)

TITLE = Text("the driver's installation is not complete", "驱动安装不完整")
CAUSE = Text(
    "/etc/ascend_install.info says Driver_Install_Status={status}",
    "/etc/ascend_install.info 中 Driver_Install_Status={status}",
)
WORKS_CAUSE = Text(
    "/etc/ascend_install.info says Driver_Install_Status={status}, yet every visible NPU computes: the "
    "record is stale",
    "/etc/ascend_install.info 中 Driver_Install_Status={status}，但每个可见 NPU 都能正常计算：该记录已过时",
)
FIX = Text("run the driver package's installer again and reboot", "重新运行驱动安装包并重启")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Only a status that is there and is not `complete`; older records have none."""
    record = {k.lower(): v for k, v in value(machine.driver.install, {}).items()}
    status = record.get("driver_install_status", "complete")
    if status.lower() == "complete":
        return
    works = device_works(machine)
    yield CHECK.found(
        Severity.NOTE if works else Severity.WARNING,
        TITLE,
        WORKS_CAUSE if works else CAUSE,
        {"status": status},
        fixes=(Fix(FIX, needs_root=True, host_only=True), ASK_HOST),
        evidence=(evidence("/etc/ascend_install.info", f"Driver_Install_Status={status}"),),
    )


CHECK = Check(
    "NPU006",
    "driver-install-incomplete",
    Text("the driver's installation is complete", "驱动安装完整"),
    needs=("driver.install",),
    run=run,
    explained_by=("NPU003",),
    sources=("https://github.com/hicann/driver",),
)
