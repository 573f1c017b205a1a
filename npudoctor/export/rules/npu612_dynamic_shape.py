"""NPU612: a dimension that varies and that no range of --dynamic-batch covers."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

_SOURCE = "https://www.hiascend.com/document/detail/zh/canncommercial/800/devaids/devtools/atc/atlasatcparam_16_0018.html"

_TITLE = Text("shapes outside the given range: {names}", "超出给定范围的形状：{names}")
_CAUSE = Text(
    "ATC fixes shapes when it compiles. Only the first dimension of inputs can take the sizes of "
    "--dynamic-batch; these "
    "vary in another place, or inside the network",
    "ATC 在编译时固定形状。只有输入的第一维可以取 --dynamic-batch 的各档位；这些形状在别处或网络内部变化",
)
_FIX = Text(
    "export with fixed shapes (leave --dynamic-batch out), or make only the batch vary",
    "以固定形状导出（去掉 --dynamic-batch），或只让批量维变化",
)


def run(graph: Graph) -> Iterator[Finding]:
    """One finding for all inputs and inner values that vary without a range."""
    names = [value.name for value in graph.inputs if _varies(value.dims[1:])]
    names += [value.name for value in graph.inputs if not graph.ranges and _varies(value.dims[:1])]
    evidence = tuple(Evidence(v.name, str(list(v.dims))) for v in graph.inputs if v.name in names)
    # Inner shapes often become fixed when ATC folds constants; open inputs never do.
    severity = Severity.ERROR if names else Severity.WARNING
    names += list(graph.inner)
    if names:
        yield Finding(
            "NPU612",
            "dynamic-shape",
            severity,
            _TITLE,
            _CAUSE,
            evidence=evidence[:6],
            params={"names": ", ".join(names[:6])},
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
        )


def _varies(dims: tuple[object, ...]) -> bool:
    return any(not isinstance(d, int) or d <= 0 for d in dims)


RULE = Rule(
    "NPU612", "dynamic-shape", Text("shapes are fixed or within the range", "形状固定或在档位内"), run
)
