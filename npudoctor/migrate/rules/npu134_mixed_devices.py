"""A tensor made on the CPU in a loop and combined with a tensor on the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    ACCELERATOR_WORDS,
    Change,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    keyword_of,
)

_SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
_MESSAGE = Message(
    title=Text(
        "`{code}` is on the CPU and meets a tensor on the device",
        "`{code}` 在 CPU 上，却与设备上的张量一起运算",
    ),
    cause=Text(
        "the operation needs both on one device: it raises, or copies in every iteration",
        "运算要求两者在同一设备上：会报错，或在每次迭代中拷贝",
    ),
    fix=Text("make it with device=, once, before the loop", "请用 device= 创建，并移到循环之前只创建一次"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_MAKERS = frozenset(
    {
        "torch.zeros",
        "torch.ones",
        "torch.empty",
        "torch.full",
        "torch.arange",
        "torch.eye",
        "torch.rand",
        "torch.randn",
        "torch.randint",
        "torch.tensor",
        "torch.linspace",
    }
)
_MOVES = ("npu", "cuda")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """An arithmetic operation whose one side was just made on the CPU and whose other was moved."""
    assert isinstance(node, ast.BinOp)
    if ctx.enclosing_loop(node) is None:
        return
    for mine, other in ((node.left, node.right), (node.right, node.left)):
        made = _value(ctx, mine)
        if made is not None and _on_cpu(ctx, made) and _on_device(ctx, other):
            yield change(ctx, made)


def _value(ctx: ModuleContext, node: ast.expr) -> ast.expr | None:
    """The expression itself, or the only value of a variable."""
    if not isinstance(node, ast.Name):
        return node
    given = [b.value for b in ctx.bindings(node)]
    return given[0] if len(given) == 1 else None


def _on_cpu(ctx: ModuleContext, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or ctx.called_name(node) not in _MAKERS:
        return False
    plain = keyword_of(node, "device") is None and not any(k.arg is None for k in node.keywords)
    scalar = ctx.called_name(node) == "torch.tensor" and node.args and isinstance(node.args[0], ast.Constant)
    default = any(
        a.attr in ("set_default_device", "set_default_tensor_type") for a in ctx.nodes(ast.Attribute)
    )
    return plain and not scalar and not default


def _on_device(ctx: ModuleContext, node: ast.expr) -> bool:
    value = _value(ctx, node)
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES and ctx.is_tensor_like(value):
        return True
    device = keyword_of(value, "device")
    moved = isinstance(value.func, ast.Attribute) and value.func.attr == "to" and len(value.args) == 1
    given = device.value if device is not None else value.args[0] if moved else None
    if isinstance(given, ast.Name) and _names_an_npu(ctx, given):
        return ctx.is_tensor_like(value)
    word = device.value.value if device is not None and isinstance(device.value, ast.Constant) else ""
    return str(word).startswith(_MOVES) and ctx.is_tensor_like(value)


def _names_an_npu(ctx: ModuleContext, name: ast.Name) -> bool:
    """A variable that only `torch.device("npu")` or a choice with it gives its value."""
    values = [b.value for b in ctx.bindings(name)]
    made = [v for v in values if v is not None and ctx.called_name(v) == "torch.device"]
    words = [str(n.value) for v in made for n in ast.walk(v) if isinstance(n, ast.Constant)]
    return bool(made) and len(made) == len(values) and any(w.startswith(_MOVES) for w in words)


RULE = Rule("NPU134", "mixed-devices", _MESSAGE, Safety.MANUAL, ACCELERATOR_WORDS, (ast.BinOp,), run)
