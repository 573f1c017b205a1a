"""NPU613: a list of batch sizes that ATC does not take."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

_SOURCE = "https://www.hiascend.com/document/detail/zh/canncommercial/800/devaids/devtools/atc/atlasatcparam_16_0018.html"
MOST_SIZES, LARGEST = 100, 2048

_TITLE = Text(
    "--dynamic-batch {sizes}: ATC will refuse or regret it", "--dynamic-batch {sizes}：ATC 会拒绝或效果不佳"
)
_CAUSE = Text(
    "ATC takes 2 to {most} sizes, each from 1 to {largest} as advised; many or large ones make compilation "
    "and memory grow",
    "ATC 接受 2 到 {most} 个档位，每档建议在 1 到 {largest} 之间；档位过多或过大会增加编译时间与内存",
)
_FIX = Text(
    "give a few distinct sizes, or one with --batch", "给出少数几个不同的档位，或用 --batch 指定单一批量"
)


def run(graph: Graph) -> Iterator[Finding]:
    """Nothing for a fixed batch."""
    sizes = graph.ranges
    if not sizes:
        return
    fits = 2 <= len(sizes) <= MOST_SIZES and len(set(sizes)) == len(sizes)
    if not fits or min(sizes) < 1 or max(sizes) > LARGEST:
        severity = Severity.ERROR if not fits else Severity.WARNING
        yield Finding(
            "NPU613",
            "batch-range",
            severity,
            _TITLE,
            _CAUSE,
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
            params={"sizes": ",".join(map(str, sizes)), "most": MOST_SIZES, "largest": LARGEST},
        )


RULE = Rule("NPU613", "batch-range", Text("batch sizes fit ATC", "批量档位符合 ATC 要求"), run)
