"""NPU615: an operator set newer than ATC's documentation names."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

# ATC's parser follows ONNX 1.12.0, whose operator set is 17; operator pages name up to 18.
NEWEST, ADVISED = 18, 17
_SOURCE = "https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/910beta3/API/aolapi/operatorlist_00177.html"

_TITLE = Text(
    "operator set {opset} is newer than ATC documents ({newest})",
    "算子集 {opset} 超出 ATC 文档所列（{newest}）",
)
_CAUSE = Text(
    "ATC's ONNX parser follows ONNX 1.12.0; operators that changed after it may be read wrongly or refused",
    "ATC 的 ONNX 解析器遵循 ONNX 1.12.0；此后有变化的算子可能被误读或拒绝",
)
_FIX = Text("export with --opset {advised}", "使用 --opset {advised} 导出")


def run(graph: Graph) -> Iterator[Finding]:
    """One finding when the operator set is too new."""
    if graph.opset > NEWEST:
        yield Finding(
            "NPU615",
            "opset",
            Severity.WARNING,
            _TITLE,
            _CAUSE,
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
            params={"opset": graph.opset, "newest": NEWEST, "advised": ADVISED},
        )


RULE = Rule("NPU615", "opset", Text("operator set that ATC documents", "ATC 文档所列的算子集"), run)
