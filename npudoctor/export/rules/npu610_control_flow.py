"""NPU610: a branch or loop that depends on data is in the graph."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Finding, Fix, Place, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

FLOW = ("If", "Loop", "Scan", "SequenceMap")
_SOURCE = "https://www.hiascend.com/document/detail/zh/canncommercial/800/devaids/devtools/atc/atlasatcparam_16_0018.html"

_TITLE = Text("dynamic control flow: {ops}", "动态控制流：{ops}")
_CAUSE = Text(
    "the branch or loop is decided while the model runs, so shapes behind it are not known when ATC "
    "compiles; fixed "
    "batches and batch ranges need every inner shape to be fixed",
    "分支或循环在运行时才决定，其后的形状在 ATC 编译时未知；固定批量与批量档位都要求网络中间形状固定",
)
_FIX = Text(
    "write the choice as arithmetic (torch.where, masks), unroll loops of fixed length, or keep it on the "
    "host",
    "用算术表达选择（torch.where、掩码），展开固定次数的循环，或把它留在主机侧",
)


def run(graph: Graph) -> Iterator[Finding]:
    """One finding for all control-flow nodes."""
    found = [node for node in graph.nodes if node.op in FLOW]
    if found:
        yield Finding(
            "NPU610",
            "control-flow",
            Severity.ERROR,
            _TITLE,
            _CAUSE,
            place=Place(found[0].name or found[0].op),
            params={"ops": ", ".join(sorted({node.op for node in found}))},
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
        )


RULE = Rule("NPU610", "control-flow", Text("no dynamic control flow", "没有动态控制流"), run)
