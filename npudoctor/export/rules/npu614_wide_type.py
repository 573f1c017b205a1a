"""NPU614: float64 in the graph."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

_SOURCE = "https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/800alpha001/apiref/aolapi/atlasoxol_09_0065.html"

_TITLE = Text("float64 in the graph: {names}", "图中存在 float64：{names}")
_CAUSE = Text(
    "matrix products convert in float16 and float32 only; float64 comes from NumPy arrays or Python "
    "numbers that were "
    "mixed into the policy",
    "矩阵乘仅支持 float16 与 float32；float64 通常来自混入策略的 NumPy 数组或 Python 数值",
)
_FIX = Text("make the values float32 before the export", "导出前将其转换为 float32")


def run(graph: Graph) -> Iterator[Finding]:
    """One finding for all values of that type."""
    names = [value.name for value in (*graph.inputs, *graph.outputs) if value.dtype == "double"]
    names += [name for name, dtype in graph.initializers if dtype == "double"]
    if names:
        yield Finding(
            "NPU614",
            "wide-type",
            Severity.WARNING,
            _TITLE,
            _CAUSE,
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
            params={"names": ", ".join(names[:6])},
        )


RULE = Rule("NPU614", "wide-type", Text("no float64", "没有 float64"), run)
