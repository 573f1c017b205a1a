"""Kinds: what is proved about a value, and what is not."""

from __future__ import annotations

import ast

import pytest

from npudoctor.migrate.api import Kind
from npudoctor.migrate.context import ModuleContext

PROLOGUE = "import torch\nimport numpy as np\nfrom torch import nn\nimport torch.nn.functional as F\n"
CASES = [
    ("torch.zeros(3)", Kind.TENSOR),
    ("torch.zeros(3).to('cpu').mean() * 2", Kind.TENSOR),
    ("F.relu(torch.ones(2))[0]", Kind.TENSOR),
    ("torch.max(torch.ones(2))", Kind.TENSOR),
    ("torch.max(torch.ones(2), 0)", Kind.UNKNOWN),
    ("torch.ones(2) > 1", Kind.TENSOR),
    ("nn.Linear(2, 2).cuda().eval()", Kind.MODULE),
    ("torch.device('cpu')", Kind.DEVICE),
    ("torch.zeros(3).device", Kind.DEVICE),
    ("np.zeros(3)", Kind.NDARRAY),
    ("torch.zeros(3).numpy()", Kind.NDARRAY),
    ("torch.zeros(3).sum().item()", Kind.NUMBER),
    ("float(x)", Kind.NUMBER),
    ("'text'", Kind.STRING),
    ("[1, 2]", Kind.LIST),
    ("something(3)", Kind.UNKNOWN),
    ("unknown.cuda()", Kind.UNKNOWN),
]


@pytest.mark.parametrize(("expression", "kind"), CASES)
def test_expression(expression: str, kind: Kind) -> None:
    ctx = ModuleContext(f"{PROLOGUE}value = {expression}\n")
    statement = ctx.tree.body[-1]
    assert isinstance(statement, ast.Assign)
    assert ctx.kind(statement.value) is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("x = torch.zeros(3)\nx", Kind.TENSOR),
        ("x = torch.zeros(3)\nx = np.zeros(3)\nx", Kind.UNKNOWN),
        ("x = None\nx = torch.zeros(3)\nx", Kind.TENSOR),
        ("def f(x: torch.Tensor, d: torch.device = None):\n    x", Kind.TENSOR),
        ("def f(x):\n    x", Kind.UNKNOWN),
        ("class A(nn.Module):\n    pass\nA()", Kind.MODULE),
        ("class A:\n    def cuda(self):\n        pass\nA()", Kind.UNKNOWN),
        ("x = y\ny = x\nx", Kind.UNKNOWN),
    ],
)
def test_variables_agree_or_prove_nothing(body: str, kind: Kind) -> None:
    ctx = ModuleContext(PROLOGUE + body + "\n")
    last = max(ctx.nodes(ast.Expr), key=lambda e: e.lineno)
    assert ctx.kind(last.value) is kind
