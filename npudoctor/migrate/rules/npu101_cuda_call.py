"""`x.cuda(...)` -> `x.npu(...)`, in portable style `x.to(accelerator_type, ...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
    FOREIGN_ROOTS,
    Change,
    Edit,
    Kind,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    can_pick,
    change,
    edit,
    is_device_name,
    is_torch_project,
    keyword_of,
    name_of_target,
    string_of,
)

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-Tensor.md"
)
_MESSAGE = Message(
    title=Text("`{code}` moves to a CUDA device", "`{code}` 会移动到 CUDA 设备"),
    cause=Text(
        "there is no CUDA device on an NPU machine, so the call raises",
        "NPU 机器上没有 CUDA 设备，该调用会报错",
    ),
    fix=Text("move to the NPU with the same arguments", "改为移动到 NPU，参数不变"),
    sources=(_SOURCE,),
)
_UNSURE = Message(
    title=Text("`{code}` may be the project's own method", "`{code}` 可能是工程自己的方法"),
    cause=Text(
        "{owner} defines a method `cuda`, and nothing proves that this call means torch's",
        "{owner} 定义了方法 `cuda`，无法证明此处调用的是 torch 的方法",
    ),
    fix=Text(
        "change the call by hand where the object is a tensor or a torch module",
        "若对象是张量或 torch 模块，请手工修改",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A call of the method, or the method itself (`map(torch.Tensor.cuda, xs)`)."""
    if isinstance(node, ast.Attribute):
        if node.attr == "cuda" and ctx.qualified_name(node) in ("torch.Tensor.cuda", "torch.nn.Module.cuda"):
            if not ctx.settings.portable:
                yield change(ctx, node, _rename(ctx, node))
            elif getattr(ctx.parent(node), "func", None) is not node:  # a call is told of as a call
                yield change(ctx, node)
        return
    assert isinstance(node, ast.Call)
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "cuda" or not is_torch_project(ctx):
        return
    kind = ctx.kind(func.value)
    if kind not in (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN) or _is_other_library(ctx, func):
        return
    unsure = kind is Kind.UNKNOWN or (kind is Kind.MODULE and not _is_torch_s(ctx, func.value))
    owner = _own_method(ctx) if unsure else None
    if owner is not None or not ctx.imports_torch:
        yield change(ctx, node, message=_UNSURE, owner=owner or ctx.path)
    elif ctx.settings.portable:
        new = _portable(ctx, node, func)
        yield change(ctx, node, *new)
    else:
        yield change(ctx, node, _rename(ctx, func))


def _rename(ctx: ModuleContext, func: ast.Attribute) -> Edit:
    _, end = ctx.span(func)
    return Edit(end - len("cuda"), end, "npu")


def _is_other_library(ctx: ModuleContext, func: ast.Attribute) -> bool:
    """A function `cuda` of an imported module, or an object of a library with devices of its own."""
    path = ctx.qualified_name(func)
    if path is None or path.startswith("torch."):
        return path is not None and path == "torch.cuda"
    if path.split(".")[0] in FOREIGN_ROOTS:
        return True
    if not isinstance(func.value, ast.Name):
        return False
    return any(isinstance(b.node, ast.Import) for b in ctx.bindings(func.value))


def _is_torch_s(ctx: ModuleContext, node: ast.expr) -> bool:
    """Whether a module is made by a class of torch itself, which has no `cuda` of its own."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if (ctx.called_name(node) or "").startswith("torch."):
            return True
        node = node.func.value
    if not isinstance(node, ast.Name):
        return False
    made = [b.value for b in ctx.bindings(node)]
    return bool(made) and all(isinstance(v, ast.Call) and _is_torch_s(ctx, v) for v in made)


def _own_method(ctx: ModuleContext) -> str | None:
    """A class of the project that defines `cuda` itself."""
    for fact in ctx.project.facts("devices").values():
        if fact.cuda_methods:
            return str(fact.cuda_methods[0])
    for owner in ctx.nodes(ast.ClassDef):
        if any(isinstance(m, ast.FunctionDef) and m.name == "cuda" for m in owner.body):
            return owner.name
    return None


def _portable(ctx: ModuleContext, node: ast.Call, func: ast.Attribute) -> list[Edit]:
    """`.cuda(0, non_blocking=True)` -> `.to(f"{accelerator_type}:0", non_blocking=True)`."""
    keyword = keyword_of(node, "device")
    given = node.args[0] if node.args else keyword.value if keyword is not None else None
    if not can_pick(ctx) or len(node.args) > 1:
        return []
    checkpoint = _of_checkpoint(ctx, node, func)
    if checkpoint is not None:
        return [edit(ctx, checkpoint, _place(ctx, node, given))]
    name_start = ctx.span(func)[1] - len("cuda")
    if given is None:
        at = ctx.source.index("(", name_start) + 1
        more = ", " if node.keywords else ""
        group = f"cuda{name_start}"
        return [Edit(name_start, name_start + 4, "to", group), Edit(at, at, f"accelerator_type{more}", group)]
    if is_device_name(name_of_target(given)) or ctx.kind(given) is Kind.DEVICE or _is_device_text(ctx, given):
        return [Edit(name_start, name_start + 4, "to")]
    if ctx.kind(given) is Kind.NUMBER and '"' not in ctx.text(given):
        group = f"cuda{name_start}"
        value = ctx.text(given)
        index = value if value.isdigit() else f"{{{value}}}"
        new = f'f"{{accelerator_type}}:{index}"'
        return [Edit(name_start, name_start + 4, "to", group), Edit(*ctx.span(given), new, group)]
    return []


def _is_device_text(ctx: ModuleContext, given: ast.expr) -> bool:
    """A device string, or what another rule has made of one."""
    text = string_of(given) or ""
    return (
        text.split(":")[0] == "cuda" or portable.TYPE in ctx.text(given) or ctx.text(given)[1:7] == '"cuda:'
    )


def _of_checkpoint(ctx: ModuleContext, node: ast.Call, func: ast.Attribute) -> ast.Lambda | None:
    """The `lambda storage, loc: storage.cuda(0)` whose body `node` is; a storage takes no `.to(...)`."""
    above = ctx.parent(node)
    if not isinstance(above, ast.Lambda) or above.body is not node or not above.args.args:
        return None
    keyword = ctx.parent(above)
    named = isinstance(keyword, ast.keyword) and keyword.arg == "map_location"
    call = ctx.parent(keyword) if isinstance(keyword, ast.keyword) else keyword
    loads = call is not None and ctx.called_name(call) in ("torch.load", "torch.jit.load")
    own = isinstance(func.value, ast.Name) and func.value.id == above.args.args[0].arg
    return above if own and (named or loads) else None


def _place(ctx: ModuleContext, node: ast.Call, given: ast.expr | None) -> str:
    """The place that such a function moves everything to."""
    if given is None:
        return portable.TYPE
    text, quote = ctx.text(given), portable.quote_for(ctx, node)
    index = text if text.isdigit() else f"{{{text}}}"
    return portable.not_on_cpu(f"f{quote}{{{portable.TYPE}}}:{index}{quote}", f"{quote}cpu{quote}", quote)


RULE = Rule("NPU101", "cuda-call", _MESSAGE, Safety.SAFE, (".cuda",), (ast.Call, ast.Attribute), run)
