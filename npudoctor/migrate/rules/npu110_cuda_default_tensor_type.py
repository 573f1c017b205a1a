"""`torch.set_default_tensor_type("torch.cuda.FloatTensor")` and types as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    can_pick,
    change,
    edit,
    string_of,
)

_URL = "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch.md"
_MESSAGE = Message(
    title=Text("`{code}` has no NPU form", "`{code}` 没有 NPU 写法"),
    cause=Text(
        "torch_npu documents that set_default_tensor_type does not take torch.npu types; "
        "torch.set_default_device is the nearest, but it does not reach torch.Tensor(...) or other threads",
        "torch_npu 文档说明 set_default_tensor_type 不支持 torch.npu 类型；"
        "torch.set_default_device 最为接近，但对 torch.Tensor(...) 和其他线程不起作用",
    ),
    fix=Text(
        'torch.set_default_device("npu"), and torch.set_default_dtype for the type; look at every '
        "torch.Tensor(...), thread and generator afterwards",
        '改用 torch.set_default_device("npu")，数据类型用 torch.set_default_dtype；'
        "之后请检查每处 torch.Tensor(...)、线程与随机数生成器",
    ),
    severity=Severity.WARNING,
    sources=(_URL,),
)
_TYPE = Message(
    title=Text("{code} is the text of a CUDA tensor type", "{code} 是 CUDA 张量类型的文本"),
    cause=Text("an NPU tensor's type is called torch.npu.<Type>", "NPU 张量的类型名为 torch.npu.<Type>"),
    fix=Text("name the NPU type", "改为 NPU 类型名"),
    sources=(_URL,),
)
_DOUBLE = Message(
    title=Text("{code} asks for float64 on the device", "{code} 要求在设备上使用 float64"),
    cause=Text(
        "many NPU operators emulate float64 or lower it to float32",
        "许多 NPU 算子会模拟 float64 或降为 float32",
    ),
    fix=Text("use float32 where the numbers allow", "在数值允许时改用 float32"),
    severity=Severity.WARNING,
    sources=("https://github.com/huggingface/diffusers/pull/10123",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A call of set_default_tensor_type, or one string such as "torch.cuda.FloatTensor"."""
    if isinstance(node, ast.Call):
        if ctx.called_name(node) != "torch.set_default_tensor_type" or not node.args:
            return
        if portable.is_ours(ctx.parent(node)):
            return
        value = node.args[0]
        name = string_of(value) or ctx.qualified_name(value) or ""
        if name.startswith("torch.cuda."):
            fix = _default_device(ctx, node, name)
            yield change(ctx, node, *fix, safety=Safety.UNSAFE if fix else Safety.MANUAL)
        elif _may_be_device_type(ctx, value):
            yield change(ctx, node, safety=Safety.MANUAL)
        return
    text = string_of(node) or ""
    if not text.startswith("torch.cuda.") or not text.endswith("Tensor") or not ctx.imports_torch:
        return
    above = ctx.parent(node)
    if isinstance(above, ast.Expr) or ctx.called_name(above or node) == "torch.set_default_tensor_type":
        return
    if text == "torch.cuda.DoubleTensor":
        yield change(ctx, node, message=_DOUBLE)
    elif isinstance(above, (ast.Compare, ast.Call)) and not ctx.settings.portable:
        literal = ctx.text(node)
        if literal.count("torch.cuda") == 1:
            yield change(
                ctx, node, edit(ctx, node, literal.replace("torch.cuda", "torch.npu")), message=_TYPE
            )


def _may_be_device_type(ctx: ModuleContext, value: ast.expr) -> bool:
    """A ternary, or a variable, one of whose values is a tensor type of the device."""
    if isinstance(value, ast.IfExp):
        return any(_may_be_device_type(ctx, part) for part in (value.body, value.orelse))
    if isinstance(value, ast.Name):
        bound = [b.value for b in ctx.bindings(value) if b.kind == "assign" and b.value is not None]
        return any(not isinstance(v, ast.Name) and _may_be_device_type(ctx, v) for v in bound)
    name = string_of(value) or ctx.qualified_name(value) or ""
    return name.startswith(("torch.cuda.", "torch.npu.")) and name.endswith("Tensor")


def _default_device(ctx: ModuleContext, node: ast.Call, name: str) -> list[Edit]:
    """The statement form, for float32 only; another type also needs set_default_dtype."""
    if name != "torch.cuda.FloatTensor" or not isinstance(node.func, ast.Attribute):
        return []
    call = ctx.text(node.func.value) + ".set_default_device"
    if not ctx.settings.portable:
        return [edit(ctx, node, f'{call}("npu")')]
    if not can_pick(ctx) or not isinstance(ctx.parent(node), ast.Expr):
        return []
    end = ctx.span(node)[1]
    return [Edit(end, end, f' if {portable.TYPE} == "cuda" else {call}({portable.TYPE})')]


RULE = Rule(
    "NPU110",
    "cuda-default-tensor-type",
    _MESSAGE,
    Safety.SAFE,
    ("set_default_tensor_type", "torch.cuda."),
    (ast.Call, ast.Constant),
    run,
)
