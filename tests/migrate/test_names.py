"""Scopes: what a name provably is, and when nothing is proved."""

from __future__ import annotations

import ast

import pytest

from npudoctor.migrate.context import ModuleContext

CASES = [
    ("import torch\ntorch.cuda.is_available()", "torch.cuda.is_available"),
    ("import torch as th\nth.cuda.is_available()", "torch.cuda.is_available"),
    ("import torch.cuda\ntorch.cuda.is_available()", "torch.cuda.is_available"),
    ("import torch.cuda as tc\ntc.is_available()", "torch.cuda.is_available"),
    ("from torch import cuda as c\nc.is_available()", "torch.cuda.is_available"),
    ("from torch.cuda import is_available\nis_available()", "torch.cuda.is_available"),
    ("import torch\nmod = torch.cuda\nmod.is_available()", "torch.cuda.is_available"),
    ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.load()", "torch.load"),
    ("from .device import pick\npick()", ".device.pick"),
    ("float(1)", "builtins.float"),
    ("def f():\n    import torch\n    return torch.load()", "torch.load"),
    ("import torch\nclass A:\n    x = torch.load()", "torch.load"),
    ("import torch\nv = [torch.load() for torch2 in y]", "torch.load"),
    ("def f():\n    global torch\n    import torch\ndef g():\n    torch.load()", "torch.load"),
]
UNPROVED = [
    "def f(torch):\n    torch.load()",
    "import torch\ntorch = fake\ntorch.load()",
    "import torch\nfor torch in y:\n    torch.load()",
    "import torch\ndef f():\n    torch = 1\n    torch.load()",
    "from torch.a import x\nfrom torch.b import x\nx()",
    "from somewhere import *\nfloat(1)",
    "class A:\n    import torch\n    def f(self):\n        torch.load()",
    "import torch\nv = [torch.load() for torch in y]",
    "import torch\nwith a as torch:\n    torch.load()",
    "import torch\nf = lambda torch: torch.load()",
    "import torch\nif (torch := fake):\n    torch.load()",
    "import torch\ndel torch\ntorch.load()",
]


def last_call(ctx: ModuleContext) -> ast.Call:
    return max(ctx.nodes(ast.Call), key=lambda call: (call.lineno, call.col_offset))


@pytest.mark.parametrize(("source", "path"), CASES)
def test_resolved(source: str, path: str) -> None:
    ctx = ModuleContext(source)
    assert ctx.called_name(last_call(ctx)) == path


@pytest.mark.parametrize("source", UNPROVED)
def test_unproved(source: str) -> None:
    ctx = ModuleContext(source)
    assert ctx.called_name(last_call(ctx)) is None


def test_uses_follow_scopes() -> None:
    ctx = ModuleContext("x = 1\ndef f():\n    return x\ndef g(x):\n    return x\nprint(x)\n")
    lines = sorted(use.lineno for use in ctx.uses("x", ctx.names.root))
    assert lines == [3, 6]


def test_enclosing_loop_knows_what_runs_once() -> None:
    ctx = ModuleContext(
        "for i in first():\n    body()\nelse:\n    last()\nwhile test():\n    pass\ndef f():\n    alone()\n"
    )
    inside = {ctx.text(c.func): ctx.enclosing_loop(c) is not None for c in ctx.nodes(ast.Call)}
    assert inside == {"first": False, "body": True, "last": False, "test": True, "alone": False}
