"""Nothing of an NPU here, neither hardware nor software: one plain answer instead of ten failures."""

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

TITLE = Text("there is no Ascend NPU on this machine", "这台机器上没有昇腾（Ascend）NPU")
CAUSE = Text(
    "no Ascend device on the PCI bus, no /dev/davinci* node, no driver and no npu-smi were found",
    "PCI 总线上没有昇腾设备，没有 /dev/davinci* 节点，没有驱动，也没有 npu-smi",
)
CONTAINER_CAUSE = Text(
    "no /dev/davinci* node, no driver and no npu-smi are visible in this container; "
    "the host may still have NPUs that were not passed in",
    "此容器内看不到 /dev/davinci* 节点、驱动和 npu-smi；主机可能有 NPU，只是没有映射进来",
)
ELSEWHERE_FIX = Text(
    "run this on the machine that has the NPU; to look at that machine from here, record it there "
    "and replay the file here",
    "请在装有 NPU 的机器上运行；若想在本机分析那台机器，请在那里录制、在这里回放",
)
ON_HOST_FIX = Text(
    "on the host, print the right docker run line and start the container with it",
    "在主机上生成正确的 docker run 命令，并用它启动容器",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Fires only when not a single trace of an NPU or of its software is there."""
    traces = (
        seen_hardware(machine),
        value(machine.driver.info),
        value(machine.driver.libraries),
        value(machine.driver.modules),
        value(machine.npu_smi.path),
        has_npu_software(machine),
    )
    if any(traces):
        return
    fixes: tuple[Fix, ...] = (
        Fix(
            ELSEWHERE_FIX, ("npudoctor check --record machine.json", "npudoctor check --replay machine.json")
        ),
    )
    if in_container(machine):
        fixes = (Fix(ON_HOST_FIX, ("npudoctor container",), host_only=True), *fixes)
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CONTAINER_CAUSE if in_container(machine) else CAUSE,
        fixes=fixes,
        evidence=(evidence("/dev", "davinci*: ENOENT"), evidence("PATH", "npu-smi: ENOENT")),
    )


CHECK = Check(
    "NPU001",
    "no-npu-here",
    Text("an NPU is attached", "连接了 NPU"),
    needs=("nodes", "driver.info", "npu_smi.path", "cann.installs", "python.packages"),
    run=run,
    sources=("https://github.com/sgl-project/sglang-omni/pull/1687",),
)
