"""float64 and complex numbers that go to the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Kind,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    keyword_of,
    string_of,
)

_MESSAGE = Message(
    title=Text("`{code}` puts {dtype} numbers on the device", "`{code}` 会把 {dtype} 数据放到设备上"),
    cause=Text(
        "many NPU operators emulate float64, fall back to the CPU, or lower it to float32 with one warning",
        "许多 NPU 算子会模拟 float64、回退到 CPU，或仅告警一次便降为 float32",
    ),
    fix=Text(
        "use float32 where the numbers allow; nothing was changed, since the numbers would change",
        "在数值允许时改用 float32；为不改变数值，此处未作修改",
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/huggingface/diffusers/pull/10123",),
)
_NUMPY = Message(
    title=Text("`{code}` keeps NumPy's float64", "`{code}` 会保留 NumPy 的 float64"),
    cause=Text(
        "NumPy arrays and Gym observations are float64 unless told otherwise, and from_numpy keeps that",
        "NumPy 数组与 Gym 观测默认为 float64，from_numpy 会原样保留",
    ),
    fix=Text(
        "torch.as_tensor(x, dtype=torch.float32, device=device) converts on the way",
        "可用 torch.as_tensor(x, dtype=torch.float32, device=device) 在搬运时转换",
    ),
    severity=Severity.NOTE,
    sources=_MESSAGE.sources,
)
_WIDE = {
    "torch.float64": "float64",
    "torch.double": "float64",
    "numpy.float64": "float64",
    "numpy.double": "float64",
    "torch.complex128": "complex128",
    "torch.complex64": "complex64",
    "torch.cdouble": "complex128",
    "torch.cfloat": "complex64",
}


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One call that gives both a wide dtype and a device, or moves a NumPy array as it is."""
    assert isinstance(node, ast.Call)
    if not ctx.imports_torch:
        return
    dtype = keyword_of(node, "dtype")
    wide = _WIDE.get(ctx.qualified_name(dtype.value) or "") if dtype is not None else None
    path = ctx.called_name(node) or ""
    if wide is not None and keyword_of(node, "device") is not None and path.startswith("torch."):
        yield change(ctx, node, dtype=wide)
    elif path in ("torch.cuda.DoubleTensor", "torch.npu.DoubleTensor"):
        yield change(ctx, node, dtype="float64")
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda", "npu"):
        wide = _widened(ctx, node)
        if wide is not None:
            yield change(ctx, node, dtype=wide)
        yield from _moved(ctx, node, node.func.value)
    elif _widens_moved(node):
        yield change(ctx, node, dtype="float64")


def _widened(ctx: ModuleContext, node: ast.Call) -> str | None:
    """The wide dtype of `x.to(device, torch.float64)`; a dtype alone may be meant for the host."""
    given = [*node.args, *(k.value for k in node.keywords)]
    names = [_WIDE.get(ctx.qualified_name(value) or "") for value in given]
    wide = next((name for name in names if name), None)
    return wide if len(given) > names.count(None) > 0 and _to_device(node) else None


def _to_device(node: ast.Call) -> bool:
    """Whether the first argument, or one of the name, is something else than the host."""
    device = keyword_of(node, "device")
    first = device.value if device is not None else node.args[0] if len(node.args) > 1 else None
    return first is not None and string_of(first) != "cpu"


def _widens_moved(node: ast.Call) -> bool:
    """`x.cuda().double()`, or `.double()` of a call with `device=`."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "double" or not isinstance(func.value, ast.Call):
        return False
    made = func.value
    device = keyword_of(made, "device")
    if device is not None:
        return string_of(device.value) != "cpu"
    return isinstance(made.func, ast.Attribute) and made.func.attr in ("cuda", "npu")


def _moved(ctx: ModuleContext, node: ast.Call, moved: ast.expr) -> Iterator[Change]:
    if ctx.called_name(moved) != "torch.from_numpy" or keyword_of(node, "dtype") is not None:
        return
    assert isinstance(moved, ast.Call)
    if moved.args and _made_float64(ctx, moved.args[0]):
        yield change(ctx, node, message=_NUMPY)


def _made_float64(ctx: ModuleContext, array: ast.expr) -> bool:
    """Whether the array provably comes from a NumPy constructor without a dtype."""
    if ctx.kind(array) is not Kind.NDARRAY or not isinstance(array, ast.Name):
        return False
    values = [b.value for b in ctx.bindings(array)]
    makers = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.linspace")
    return all(
        isinstance(v, ast.Call) and ctx.called_name(v) in makers and len(v.args) == 1 and not v.keywords
        for v in values
    )


RULE = Rule(
    "NPU120",
    "float64-on-device",
    _MESSAGE,
    Safety.MANUAL,
    (
        ("float64", "torch"),
        "DoubleTensor",
        (".double()", "torch"),
        "torch.double",
        ("complex", "torch"),
        ("from_numpy", "cuda"),
        ("from_numpy", "npu"),
    ),
    (ast.Call,),
    run,
)
