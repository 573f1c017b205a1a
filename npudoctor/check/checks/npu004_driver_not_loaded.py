"""The driver is on disk, and the kernel does not run it."""

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
    chip_nodes,
    chips,
    evidence,
    in_container,
    value,
)

TITLE = Text(
    "driver {version} is installed, but its kernel modules are not loaded",
    "已安装驱动 {version}，但内核模块没有加载",
)
CAUSE = Text(
    "/proc/modules lists none of drv_*, asdrv_*; usual after a kernel update (the modules were built for the "
    "old kernel), or when the reboot after the installation is still due",
    "/proc/modules 中没有 drv_*、asdrv_* 模块；常见于内核升级之后（模块是为旧内核构建的），或安装后尚未重启",
)
FIX = Text(
    "reboot; when that does not help, reinstall the driver for the running kernel and read dmesg",
    "重启；若无效，请为当前内核重新安装驱动并查看 dmesg",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Module list read and empty of driver names, no device node, on a host."""
    info, modules = value(machine.driver.info), machine.driver.modules
    if (
        info is None
        or not isinstance(modules, Known)
        or modules.value
        or chip_nodes(machine)
        or chips(machine)
    ):
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"version": info.version},
        fixes=(
            Fix(
                FIX,
                ("uname -r", "dmesg | grep -iE 'drv|davinci|ascend' | tail", "reboot"),
                needs_root=True,
                host_only=True,
            ),
            ASK_HOST,
        ),
        evidence=(
            evidence(modules.place, "drv_*, asdrv_*: -"),
            evidence(getattr(machine.driver.info, "place", ""), info.version),
        ),
    )


CHECK = Check(
    "NPU004",
    "driver-not-loaded",
    Text("the driver is loaded", "驱动已加载"),
    needs=("driver.info", "nodes", "os.container"),
    run=run,
    explained_by=("NPU003",),
    applies=lambda m: not in_container(m),
    sources=("https://github.com/hicann/driver",),
)
