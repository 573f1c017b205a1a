"""torch.npu.is_available() is False; usually a consequence of something above."""

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
    explain_command,
    said,
    value,
)

TITLE = Text("torch.npu.is_available() is False", "torch.npu.is_available() 为 False")
CAUSE = Text(
    "torch_npu imports and sees {count} devices; none of the known causes was found: nodes and their rights, "
    "chips held elsewhere, driver libraries, the device list in ASCEND_RT_VISIBLE_DEVICES",
    "torch_npu 可以导入，但看到 {count} 个设备；未发现已知原因（节点及其权限、芯片被占用、驱动库、"
    "ASCEND_RT_VISIBLE_DEVICES 中的设备列表）",
)
FIX = Text("ask the runtime for its error and look it up", "查看运行时的报错并查询")
SCRIPT = "import torch, torch_npu; torch.npu.set_device(0)"


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """As the compute probe saw it."""
    seen = value(machine.probes.compute)
    if seen is None or seen.available is not False:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"count": seen.count if seen.count is not None else "?"},
        fixes=(Fix(FIX, (explain_command(machine, SCRIPT),)),),
        evidence=(evidence("torch.npu.is_available()", False), *said(seen.tail, 2)),
    )


CHECK = Check(
    "NPU090",
    "is-available-false",
    Text("torch.npu.is_available()", "torch.npu.is_available() 检查"),
    needs=("probes.compute",),
    run=run,
    explained_by=tuple(
        "NPU003 NPU004 NPU005 NPU007 NPU010 NPU011 NPU012 NPU013 NPU014 NPU015 NPU016 NPU017 "
        "NPU018 NPU031 NPU032 NPU036 NPU080 NPU081 NPU082 NPU083".split()
    ),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/14628",),
)
