"""The chips are on the bus, and there is no driver for them."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    evidence,
    in_container,
    value,
)

TITLE = Text("the NPU driver is not installed", "没有安装 NPU 驱动")
CAUSE = Text(
    "{chips} Ascend device(s) are on the PCI bus, but {root}/driver/version.info does not exist "
    "and no driver module is loaded",
    "PCI 总线上有 {chips} 个昇腾设备，但 {root}/driver/version.info 不存在，也没有加载驱动模块",
)
FIX = Text(
    "install the driver and firmware package (HDK) of this chip, then reboot",
    "安装该芯片的驱动与固件包（HDK），然后重启",
)
RENTED_FIX = Text(
    "on a rented machine ask the provider for an image with the driver",
    "租用的机器请联系提供方更换带驱动的镜像",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """On a host only: a container gets the driver from its host."""
    if value(machine.driver.info) or value(machine.driver.modules) or value(machine.driver.libraries):
        return
    found = value(machine.pci)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"chips": len(found), "root": machine.driver.root},
        fixes=(
            Fix(
                FIX,
                (
                    "./Ascend-hdk-<chip>-npu-driver_<version>_linux-<arch>.run --full --install-for-all",
                    "./Ascend-hdk-<chip>-npu-firmware_<version>.run --full",
                    "reboot",
                ),
                needs_root=True,
                host_only=True,
            ),
            Fix(RENTED_FIX),
        ),
        evidence=tuple(evidence(f"/sys/bus/pci/devices/{d.address}", d.device) for d in found[:2]),
    )


CHECK = Check(
    "NPU003",
    "driver-missing",
    Text("the driver is installed", "已安装驱动"),
    needs=("driver.info", "driver.libraries", "pci", "os.container"),
    run=run,
    explained_by=("NPU001",),
    applies=lambda m: bool(value(m.pci)) and not in_container(m),
    sources=("https://github.com/hicann/driver",),
)
