"""The loader will take CANN's stub of the driver instead of the driver."""

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
    device_works,
    evidence,
    seen_hardware,
    value,
)

TITLE = Text("the driver's libraries are replaced by stubs: {stub}", "驱动的库被桩库替代：{stub}")
CAUSE = Text(
    "set_env.sh appends CANN's devlib folder when it finds no libascend_hal.so of the driver; programs then "
    "link, and fail at run time with error 100039 (compilation stub)",
    "set_env.sh 找不到驱动的 libascend_hal.so 时会追加 CANN 的 devlib 目录；程序可以链接，运行时却报 "
    "100039（桩库）",
)
MOUNT_FIX = Text(
    "make {root}/driver/lib64 visible (in a container: mount it), then source set_env.sh again in a "
    "clean shell",
    "让 {root}/driver/lib64 可见（容器内需挂载），然后在干净的终端重新 source set_env.sh",
)
SOURCE_AGAIN_FIX = Text(
    "the driver is there now: source set_env.sh again in a clean shell",
    "驱动已存在：请在干净的终端重新 source set_env.sh",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A devlib or stub folder on the path, and no real libascend_hal.so on it."""
    stubs = machine.cann.stub_paths
    if not stubs or machine.cann.hal_elsewhere or device_works(machine):
        return
    there = isinstance(machine.driver.libraries, Known)
    yield CHECK.found(
        Severity.ERROR if seen_hardware(machine) else Severity.WARNING,
        TITLE,
        CAUSE,
        {"stub": stubs[0], "root": machine.driver.root},
        fixes=(
            Fix(
                SOURCE_AGAIN_FIX if there else MOUNT_FIX,
                ("env -i HOME=$HOME PATH=/usr/bin:/bin bash", "source <CANN>/set_env.sh"),
            ),
        ),
        evidence=(
            evidence("LD_LIBRARY_PATH", stubs[0]),
            evidence(
                f"{machine.driver.root}/driver/lib64",
                "libascend_hal.so" if there else "libascend_hal.so: ENOENT",
            ),
        ),
    )


CHECK = Check(
    "NPU036",
    "cann-stub-libraries",
    Text("no stub libraries are loaded", "没有加载桩库"),
    needs=("env", "driver.libraries"),
    run=run,
    explained_by=("NPU003", "NPU005"),
    applies=lambda m: bool(value(m.cann.installs)),
    sources=("https://github.com/hicann/runtime/blob/master/scripts/package/runtime/scripts/set_env.sh",),
)
