"""Options of the NPU allocator that exclude each other."""

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
    seen_hardware,
)

TITLE = Text(
    "PYTORCH_NPU_ALLOC_CONF combines options that exclude each other: {options}",
    "PYTORCH_NPU_ALLOC_CONF 中的选项互相排斥：{options}",
)
CAUSE = Text(
    "expandable_segments manages memory in another way; the allocator refuses splitting and "
    "collection limits "
    "beside it when it starts",
    "expandable_segments 采用另一种内存管理方式；分配器启动时拒绝与切分、回收阈值同时使用",
)
FIX = Text("keep one of the two ways", "只保留其中一种方式")
_OTHERS = ("max_split_size_mb", "garbage_collection_threshold")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """expandable_segments:True beside a split or collection limit."""
    text = machine.var("PYTORCH_NPU_ALLOC_CONF") or ""
    options = dict(part.strip().split(":", 1) for part in text.split(",") if ":" in part)
    others = [name for name in _OTHERS if name in options]
    if options.get("expandable_segments", "").strip().lower() != "true" or not others:
        return
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {"options": ", ".join(["expandable_segments", *others])},
        place="PYTORCH_NPU_ALLOC_CONF",
        fixes=(Fix(FIX, ("export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",)),),
        evidence=(evidence("PYTORCH_NPU_ALLOC_CONF", text),),
    )


CHECK = Check(
    "NPU087",
    "alloc-conf-conflict",
    Text("the allocator's options go together", "分配器选项不冲突"),
    needs=("env",),
    run=run,
    applies=lambda m: seen_hardware(m) or m.python.first("torch-npu") is not None,
    sources=("https://pypi.org/project/torch-npu/2.13.0/",),
)
