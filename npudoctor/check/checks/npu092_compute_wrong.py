"""The NPU answers, and the answer is wrong."""

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
    value,
)

TITLE = Text(
    "npu:{device} computes wrong numbers: ones(8) + ones(8) gave {result}",
    "npu:{device} 计算结果错误：ones(8) + ones(8) 得到 {result}",
)
CAUSE = Text(
    "an addition of ones has one exact answer; a defective chip, or libraries of different releases "
    "mixed in one "
    "process",
    "1 加 1 的结果是确定的；可能是芯片缺陷，或同一进程混用了不同版本的库",
)
FIX = Text(
    "keep jobs off this chip, ask for its health, and compare with another chip",
    "不要在此芯片上运行任务，查询其健康状态，并与其他芯片比较",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """One finding for each device whose sum is not 2."""
    seen = value(machine.probes.compute)
    for device, result in enumerate(seen.results if seen is not None else ()):
        if result.startswith("wrong"):
            yield CHECK.found(
                Severity.ERROR,
                TITLE,
                CAUSE,
                {"device": device, "result": result[7:]},
                fixes=(
                    Fix(
                        FIX, (f"npu-smi info -t health -i {device} -c 0", f"npu-smi info -t ecc -i {device}")
                    ),
                ),
                evidence=(evidence(f"npu:{device}", result),),
            )


CHECK = Check(
    "NPU092",
    "compute-wrong",
    Text("the NPU computes right numbers", "NPU 计算结果正确"),
    needs=("probes.compute",),
    run=run,
    explained_by=("NPU020", "NPU034"),
    sources=("https://github.com/Ascend/pytorch/issues/6",),
)
