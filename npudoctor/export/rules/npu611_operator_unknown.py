"""NPU611: an operator that the table of ATC's ONNX operators does not list."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor import tables
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule
from npudoctor.export.rules.npu610_control_flow import FLOW

_TITLE = Text("operators that ATC may not convert: {ops}", "ATC 可能无法转换的算子：{ops}")
_CAUSE = Text(
    "they are unknown to the table of {date} of ONNX operators that ATC converts ({count} rows). A newer "
    "CANN may know "
    "them; a custom domain needs a plug-in",
    "它们不在 {date} 的 ATC 可转换 ONNX 算子表（{count} 行）中。更新的 CANN 可能支持；自定义域需要插件",
)
_FIX = Text(
    "try ATC; if it refuses, write the operator with listed ones, or export with a lower --opset so that "
    "it is decomposed",
    "先尝试 ATC；若被拒绝，改用表内算子表达，或用更低的 --opset 导出使其被分解",
)


def run(graph: Graph) -> Iterator[Finding]:
    """One finding for all unlisted operators."""
    table = tables.load("atc_onnx_ops")
    known = {row["op"] for row in table.rows}
    unknown = {
        f"{node.domain}::{node.op}" if node.domain else node.op: node
        for node in graph.nodes
        if (node.domain or node.op not in known) and node.op not in FLOW
    }
    if unknown:
        evidence = tuple(Evidence(node.name or name, name) for name, node in list(unknown.items())[:6])
        yield Finding(
            "NPU611",
            "operator-unknown",
            Severity.WARNING,
            _TITLE,
            _CAUSE,
            evidence=evidence,
            params={"ops": ", ".join(sorted(unknown)), "date": table.date, "count": len(table.rows)},
            fixes=(Fix(_FIX),),
            sources=(table.rows[0]["source_url"],),
        )


RULE = Rule(
    "NPU611", "operator-unknown", Text("every operator is listed for ATC", "所有算子均在 ATC 表中"), run
)
