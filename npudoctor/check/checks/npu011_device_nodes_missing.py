"""The driver is loaded on this host, and /dev holds no chip."""

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
    chip_nodes,
    device_works,
    evidence,
    in_container,
    value,
)

TITLE = Text("the driver is loaded, but /dev has no davinci node", "驱动已加载，但 /dev 中没有 davinci 节点")
CAUSE = Text(
    "the driver did not bring a chip up: a chip that failed to start, or a partly loaded driver",
    "驱动没有成功启动芯片：芯片启动失败，或驱动只加载了一部分",
)
FIX = Text(
    "look at the boot log of the chips, then reboot or power-cycle the host",
    "查看芯片启动日志，然后重启或断电重启主机",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Modules there, nodes not, on a host."""
    if chip_nodes(machine) or not value(machine.driver.modules):
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        fixes=(
            Fix(
                FIX,
                ("dmesg | grep -iE 'davinci|drv|ascend' | tail -50", "npu-smi info", "reboot"),
                needs_root=True,
                host_only=True,
            ),
            ASK_HOST,
        ),
        evidence=(
            evidence("/proc/modules", ", ".join(value(machine.driver.modules)[:4])),
            evidence("/dev", "davinci*: ENOENT"),
        ),
    )


CHECK = Check(
    "NPU011",
    "device-nodes-missing",
    Text("the device nodes are there", "设备节点存在"),
    needs=("nodes", "driver.modules", "os.container"),
    run=run,
    explained_by=("NPU003", "NPU004"),
    applies=lambda m: not in_container(m) and bool(value(m.driver.modules)) and not device_works(m),
    sources=("https://github.com/hicann/driver",),
)
