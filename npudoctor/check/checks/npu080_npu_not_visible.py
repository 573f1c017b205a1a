"""The software for an NPU is installed, and no NPU can be seen from here."""

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
    has_npu_software,
    in_container,
    seen_hardware,
    value,
)

TITLE = Text(
    "no NPU is visible here, although {software} is installed", "此处看不到 NPU，尽管已安装 {software}"
)
HOST_CAUSE = Text(
    "no Ascend device on the PCI bus and no /dev/davinci* node: this machine has none, or the virtual "
    "machine was "
    "not given one",
    "PCI 总线上没有昇腾设备，也没有 /dev/davinci* 节点：本机没有 NPU，或虚拟机没有直通 NPU",
)
INSIDE_CAUSE = Text(
    "no /dev/davinci* node is in this container: it was started without devices, or the host has none",
    "容器内没有 /dev/davinci* 节点：启动时没有映射设备，或主机没有 NPU",
)
MAP_FIX = Text(
    "on the host, print the right docker run line and start the container with it",
    "在主机上生成正确的 docker run 命令，并用它启动容器",
)
MOVE_FIX = Text(
    "run on a machine that has an NPU; torch without torch_npu is enough for this one",
    "请在有 NPU 的机器上运行；本机只需不带 torch_npu 的 torch",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """No bus entry, no node, no table from npu-smi; software there."""
    if seen_hardware(machine):
        return
    software = [
        name
        for name, there in (
            ("torch_npu", machine.python.first("torch-npu") is not None),
            ("CANN", bool(value(machine.cann.installs))),
        )
        if there
    ]
    inside = in_container(machine)
    map_it = (Fix(MAP_FIX, ("npudoctor container",), host_only=True),) if inside else ()
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        INSIDE_CAUSE if inside else HOST_CAUSE,
        {"software": ", ".join(software)},
        fixes=(*map_it, Fix(MOVE_FIX)),
        evidence=(evidence("/dev", "davinci*: ENOENT"),),
    )


CHECK = Check(
    "NPU080",
    "npu-not-visible",
    Text("an NPU is visible", "可以看到 NPU"),
    needs=("nodes", "pci", "npu_smi.path"),
    run=run,
    explained_by=("NPU001", "NPU003", "NPU004", "NPU011", "NPU012"),
    applies=has_npu_software,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/14628",),
)
