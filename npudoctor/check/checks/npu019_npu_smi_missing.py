"""The NPU may work, and its tool is not here."""

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
    evidence,
    in_container,
    seen_hardware,
)

TITLE = Text("npu-smi is not here", "没有找到 npu-smi")
FOLDER_TITLE = Text(
    "{folder} is a directory, not the npu-smi program", "{folder} 是一个目录（directory），不是 npu-smi 程序"
)
CAUSE = Text(
    "it was not found on PATH, in /usr/local/bin or in /usr/local/sbin; the NPU does not need it, people and "
    "monitoring do",
    "PATH、/usr/local/bin 和 /usr/local/sbin 中都没有；NPU 运行不依赖它，但排查和监控需要",
)
FOLDER_CAUSE = Text(
    "docker makes an empty directory when the source of -v does not exist on the host: the tool lies "
    "somewhere else there",
    "当 -v 的源路径在主机上不存在时，docker 会创建空目录：说明该工具在主机的其他位置",
)
MOUNT_FIX = Text("on the host find its real place, and mount that", "在主机上找到它的真实位置，再挂载")
PATH_FIX = Text(
    "on a host it comes with the driver; look in the driver's folder", "在主机上它随驱动安装，请查看驱动目录"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """A warning: the machine can compute without it."""
    if isinstance(machine.npu_smi.path, Known):
        return
    folder = machine.npu_smi.not_a_file
    place = folder or "/usr/local/bin/npu-smi"
    mount = Fix(
        MOUNT_FIX,
        (
            "ls -l $(command -v npu-smi) /usr/local/sbin/npu-smi /usr/local/bin/npu-smi",
            f"docker run -v <real path>:{place}:ro ... <image>",
        ),
        host_only=True,
    )
    yield CHECK.found(
        Severity.WARNING,
        FOLDER_TITLE if folder else TITLE,
        FOLDER_CAUSE if folder else CAUSE,
        {"folder": folder},
        fixes=(mount,)
        if in_container(machine)
        else (Fix(PATH_FIX, (f"ls {machine.driver.root}/driver/tools",)),),
        evidence=(evidence(place, "EISDIR" if folder else "ENOENT"),),
    )


CHECK = Check(
    "NPU019",
    "npu-smi-missing",
    Text("npu-smi is there", "npu-smi 存在"),
    needs=("npu_smi.path",),
    run=run,
    explained_by=("NPU001", "NPU003", "NPU004", "NPU005", "NPU080"),
    applies=lambda m: seen_hardware(m) or isinstance(m.driver.info, Known),
    sources=("https://github.com/PaddlePaddle/PaddleX/issues/4542",),
)
