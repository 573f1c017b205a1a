"""The article's probe, ones(8) + ones(8) on each visible device, ended in an error."""

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

TITLE = Text("adding two tensors on the NPU failed: {error}", "在 NPU 上做加法失败：{error}")
CAUSE = Text(
    "imports work and the first operator does not; when nothing else is found above, the operator package, "
    "the driver or the chip is next to look at",
    "导入正常但第一个算子失败；若上面没有其他发现，接下来检查算子包、驱动或芯片",
)
FIX = Text("look the whole message up", "查询完整报错")
SCRIPT = 'import torch, torch_npu; print(torch.ones(8, device="npu:0") + 1)'


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """An exception, a signal, or an error of one of the devices."""
    seen = value(machine.probes.compute)
    if seen is None:
        return
    failed = [f"npu:{i}: {r}" for i, r in enumerate(seen.results) if r != "ok" and not r.startswith("wrong")]
    died = f"signal {seen.signal}" if seen.signal else ""
    error = seen.error if not seen.error.startswith("exit") or not died else died
    if not failed and not error:
        return
    words = failed[0] if failed else error
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"error": words[:160]},
        fixes=(Fix(FIX, (explain_command(machine, SCRIPT),)),),
        evidence=(*(evidence("compute", f) for f in failed[:2]), *said(seen.tail, 4)),
    )


CHECK = Check(
    "NPU091",
    "compute-failed",
    Text("adding two tensors on each NPU works", "每个 NPU 上的加法正常"),
    needs=("probes.compute",),
    run=run,
    explained_by=tuple(
        "NPU003 NPU004 NPU005 NPU007 NPU010 NPU012 NPU013 NPU014 NPU015 NPU016 NPU017 NPU018 "
        "NPU020 NPU021 NPU031 NPU032 NPU034 NPU035 NPU036 NPU037 NPU038 NPU039 NPU040 NPU051 "
        "NPU052 NPU071 NPU073 NPU081 NPU082 NPU083 NPU087 NPU090".split()
    ),
    sources=("https://github.com/vllm-project/vllm-ascend/issues/2210",),
)
