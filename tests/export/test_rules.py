"""Each rule fires on its fault and on nothing else; a healthy graph passes them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npudoctor.core.finding import Severity
from npudoctor.export.graph import Graph, Node, Value
from npudoctor.export.rule import all_rules

OBS = Value("obs", "float", (1, 9))
HEALTHY = Graph(
    opset=17,
    ir=8,
    inputs=(OBS,),
    outputs=(Value("action", "float", (1, 2)),),
    nodes=(Node("Gemm", "", "fc", "", ("h",)), Node("Tanh", "", "act", "", ("action",))),
    initializers=(("w", "float"),),
)


def node(op: str, domain: str = "") -> Node:
    return Node(op, domain, "n", "", ("y",))


def open_obs(*dims: int | str) -> tuple[Value, ...]:
    return (Value("obs", "float", dims),)


CASES = {
    "NPU610": replace(HEALTHY, nodes=(*HEALTHY.nodes, node("Loop"))),
    "NPU611": replace(HEALTHY, nodes=(*HEALTHY.nodes, node("Einsum"))),
    "NPU612": replace(HEALTHY, inputs=open_obs("batch", 9)),
    "NPU613": replace(HEALTHY, inputs=open_obs("batch", 9), ranges=(8,)),
    "NPU614": replace(HEALTHY, initializers=(("w", "double"),)),
    "NPU615": replace(HEALTHY, opset=23),
    "NPU616": replace(HEALTHY, external=("policy.onnx.data",)),
}


def fired(graph: Graph) -> dict[str, Severity]:
    return {f.code: f.severity for rule in all_rules().values() for f in rule.run(graph)}


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(all_rules())


def test_a_healthy_graph_is_silent() -> None:
    assert fired(HEALTHY) == {}
    assert fired(replace(HEALTHY, inputs=open_obs("batch", 9), ranges=(1, 2, 4, 8))) == {}


@pytest.mark.parametrize("code", CASES)
def test_a_fault_fires_its_rule_alone(code: str) -> None:
    assert set(fired(CASES[code])) == {code}
    for finding in all_rules()[code].run(CASES[code]):
        for lang in ("en", "zh"):
            finding.title.render(lang, finding.params)
            finding.cause.render(lang, finding.params)
            assert [fix.note.render(lang, finding.params) for fix in finding.fixes]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (replace(HEALTHY, nodes=(node("Gemm", "com.microsoft"),)), {"NPU611": Severity.WARNING}),
        (replace(HEALTHY, inputs=open_obs("batch", "dim"), ranges=(1, 2)), {"NPU612": Severity.ERROR}),
        (replace(HEALTHY, inner=("mask",)), {"NPU612": Severity.WARNING}),
        (replace(HEALTHY, inputs=open_obs("batch", 9), ranges=(1, 4096)), {"NPU613": Severity.WARNING}),
        (replace(HEALTHY, inputs=open_obs("batch", 9), ranges=(1, 1)), {"NPU613": Severity.ERROR}),
    ],
)
def test_edges(graph: Graph, expected: dict[str, Severity]) -> None:
    assert fired(graph) == expected
