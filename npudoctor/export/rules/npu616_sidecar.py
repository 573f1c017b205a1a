"""NPU616: the weights lie in a second file."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.core.finding import Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.export.graph import Graph
from npudoctor.export.rule import Rule

_SOURCE = "https://github.com/pytorch/pytorch/issues/126479"

_TITLE = Text("the weights are in {files}, beside the model", "权重存放在模型旁的 {files} 中")
_CAUSE = Text(
    "a model whose weights are external is useless without the other file, and is easily copied without it",
    "权重外置的模型离开该文件便无法使用，而复制时很容易遗漏",
)
_FIX = Text(
    "keep both files together; models above 2 GB have no other form",
    "将两个文件放在一起；超过 2 GB 的模型只能如此",
)


def run(graph: Graph) -> Iterator[Finding]:
    """One finding when there is external data."""
    if graph.external:
        yield Finding(
            "NPU616",
            "sidecar",
            Severity.WARNING,
            _TITLE,
            _CAUSE,
            fixes=(Fix(_FIX),),
            sources=(_SOURCE,),
            params={"files": ", ".join(graph.external)},
        )


RULE = Rule("NPU616", "sidecar", Text("one self-contained file", "单个自包含文件"), run)
