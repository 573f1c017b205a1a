"""No document names this CANN for this torch_npu, and documents name others."""

from __future__ import annotations

from npudoctor.check.api import (
    Absent,
    Check,
    Finding,
    Fix,
    Iterable,
    Known,
    Machine,
    Relation,
    Severity,
    Skip,
    Tables,
    Text,
    cann_in_use,
    device_works,
    evidence,
    python_minor,
    relation_to,
    set_fixes,
)

TITLE = Text(
    "torch_npu {npu} is not documented for CANN {cann} (documented: {named})",
    "没有文档说明 torch_npu {npu} 支持 CANN {cann}（文档所列：{named}）",
)
CAUSE = Text(
    "torch_npu calls CANN's libraries directly and prints no version warning itself; a wrong pair "
    "shows as an "
    "undefined symbol or a missing operator (table of {date}, {weak})",
    "torch_npu 直接调用 CANN 的库，自身不会提示版本不符；不配套会表现为未定义符号或缺少算子（{date} 的"
    "数据表，{weak}）",
)
FIX = Text("use a set that belongs together", "改用配套的版本组合")
UNKNOWN_REASON = Text(
    "which CANN belongs to torch_npu {npu} is unknown to the table of {date}",
    "{date} 的数据表没有说明 torch_npu {npu} 对应的 CANN",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """Paired, series, tested and compatible are all fine; a set that computes is at most a note."""
    npu, install = machine.python.first("torch-npu"), cann_in_use(machine)
    if npu is None or install is None:
        return
    row = tables.row_for_torch_npu(npu.version).value if npu.version else None
    relation = relation_to(tables, row, install) if row else Relation.UNKNOWN
    if relation is Relation.UNKNOWN or row is None:
        raise Skip(UNKNOWN_REASON, {"npu": npu.version, "date": tables.date})
    if relation is not Relation.OUTSIDE:
        return
    tried = isinstance(machine.probes.torch_npu, Known) and isinstance(
        machine.probes.compute, (Known, Absent)
    )
    severity = Severity.NOTE if device_works(machine) else Severity.ERROR if tried else Severity.WARNING
    yield CHECK.found(
        severity,
        TITLE,
        CAUSE,
        {
            "npu": npu.version,
            "cann": install.version,
            "named": ", ".join(row.cann) or row.cann_line,
            "date": tables.date,
            "weak": row.provenance.confidence,
        },
        fixes=(
            *set_fixes(machine, tables, cann=install.version, python=python_minor(machine) or None),
            Fix(
                FIX, (f"npudoctor pair --cann {install.version}", f"npudoctor pair --torch-npu {npu.version}")
            ),
        ),
        evidence=(
            evidence(install.place, install.version),
            evidence(row.provenance.url, ", ".join(row.cann)),
        ),
    )


CHECK = Check(
    "NPU073",
    "torch-npu-cann-unpaired",
    Text("torch_npu and CANN are a pair", "torch_npu 与 CANN 配套"),
    needs=("python.packages", "cann.installs"),
    run=run,
    explained_by=("NPU034",),
    applies=lambda m: m.python.first("torch-npu") is not None and cann_in_use(m) is not None,
    sources=("https://github.com/Ascend/pytorch/blob/master/COMPATIBILITY.md",),
)
