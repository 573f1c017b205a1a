"""An NPU and torch are here, and nothing that connects them."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Relation,
    Severity,
    Tables,
    Text,
    cann_in_use,
    evidence,
    pip_pair,
    relation_to,
    seen_hardware,
)

TITLE = Text("torch_npu is not installed in this Python", "当前 Python 中没有安装 torch_npu")
CAUSE = Text(
    "torch {torch} does not know the NPU by itself; torch_npu adds it, and each torch_npu fits "
    "exactly one torch",
    "torch {torch} 本身不支持 NPU；torch_npu 提供支持，且每个 torch_npu 只适配一个 torch 版本",
)
FIX = Text("install the torch_npu of this torch", "安装与此 torch 配套的 torch_npu")
NONE_FIX = Text(
    "no torch_npu for torch {torch} is known to the table of {date}: choose a torch that has one",
    "{date} 的数据表中没有 torch {torch} 对应的 torch_npu：请换用有对应版本的 torch",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By metadata; the newest release on the index that fits torch, and CANN where it is known."""
    torch = machine.python.first("torch")
    if machine.python.first("torch-npu") is not None or torch is None:
        return
    rows = [row for row in tables.rows_for_torch(torch.version) if row.on_index]
    install = cann_in_use(machine)
    paired = [r for r in rows if install and relation_to(tables, r, install) is Relation.PAIRED]
    best = next(iter(paired or rows), None)
    fix = (
        Fix(FIX, pip_pair(machine, best.torch, best.torch_npu))
        if best
        else Fix(NONE_FIX, ("npudoctor pair",))
    )
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"torch": torch.version, "date": tables.date},
        fixes=(fix,),
        evidence=(evidence(machine.python.executable, "torch_npu: -"),),
    )


CHECK = Check(
    "NPU070",
    "torch-npu-missing",
    Text("torch_npu is installed", "已安装 torch_npu"),
    needs=("python.packages",),
    run=run,
    explained_by=("NPU001", "NPU060"),
    applies=seen_hardware,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/166",),
)
