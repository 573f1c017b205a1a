"""Distributed start: `init_process_group(device_id=rank)`, and processes that never select a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
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
    keyword_of,
    uses_accelerator,
)

_MESSAGE = Message(
    title=Text("device_id={value} is an index, not a device", "device_id={value} 是序号而不是设备"),
    cause=Text(
        "torch reads the type of device_id to choose the backend; an explicit torch.device works on all",
        "torch 根据 device_id 的类型选择后端；显式的 torch.device 对所有后端有效",
    ),
    fix=Text('device_id=torch.device("npu", {value})', '改为 device_id=torch.device("npu", {value})'),
    sources=("https://github.com/vllm-project/speculators/pull/775",),
)
_NO_SET = Message(
    title=Text("no device is selected before the process group is used", "使用进程组之前没有选择设备"),
    cause=Text(
        "each process must select its device first; without that, collectives fail with "
        "'could not compute stream ID'",
        "每个进程必须先选择自己的设备，否则集合通信会报 could not compute stream ID",
    ),
    fix=Text(
        "call torch.npu.set_device(rank) before the first use of the device",
        "请在首次使用设备之前调用 torch.npu.set_device(rank)",
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/Ascend/pytorch/issues/20",),
)
_DDP = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")


_CPU = Message(
    title=Text("`{code}` is refused on a CPU", "CPU 上不接受 `{code}`"),
    cause=Text(
        "a process group and a wrapped module that live on the CPU take no device",
        "在 CPU 上运行的进程组与被封装的模块不接受设备参数",
    ),
    fix=Text("give None there", "在 CPU 上传入 None"),
    sources=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One call of init_process_group; in portable style also one that wraps a module."""
    assert isinstance(node, ast.Call)
    path = ctx.called_name(node)
    starts = path == "torch.distributed.init_process_group"
    if ctx.settings.portable and (starts or path in _DDP):
        yield from _none_on_cpu(ctx, node, ("device_id",) if starts else ("device_ids", "output_device"))
    if not starts:
        return
    keyword = keyword_of(node, "device_id")
    if keyword is not None and _is_index(ctx, keyword.value):
        yield _explicit(ctx, keyword)
    if keyword is None and _uses_accelerator(ctx, node) and not _selects(ctx):
        yield change(ctx, node, message=_NO_SET)


def _is_index(ctx: ModuleContext, value: ast.expr) -> bool:
    named = isinstance(value, ast.Name) and value.id in ("rank", "local_rank", "gpu", "gpu_id")
    return ctx.kind(value) is Kind.NUMBER or (named and ctx.kind(value) is Kind.UNKNOWN)


def _explicit(ctx: ModuleContext, keyword: ast.keyword) -> Change:
    value = ctx.text(keyword.value)
    torch = next((n for n, b in ctx.names.root.bindings.items() if b[0].target == "torch"), None)
    if torch is None or ctx.settings.portable or ctx.kind(keyword.value) is not Kind.NUMBER:
        return change(ctx, keyword, value=value)
    return change(
        ctx, keyword, Edit(*ctx.span(keyword.value), f'{torch}.device("npu", {value})'), value=value
    )


def _none_on_cpu(ctx: ModuleContext, node: ast.Call, names: tuple[str, ...]) -> Iterator[Change]:
    """`device_ids=[rank]` -> `device_ids=None if accelerator_type == "cpu" else [rank]`."""
    for name in names:
        keyword = keyword_of(node, name)
        value = keyword.value if keyword is not None else None
        if value is None or isinstance(value, ast.IfExp) or not can_pick(ctx):
            continue
        none = isinstance(value, ast.Constant) and value.value is None
        if not none and (isinstance(value, ast.List) or uses_accelerator(ctx)):
            at = ctx.span(value)[0]
            yield change(ctx, value, Edit(at, at, portable.not_on_cpu("", "None")), message=_CPU)


def _uses_accelerator(ctx: ModuleContext, node: ast.Call) -> bool:
    """Whether the group is NCCL's or HCCL's and the module wraps a model for it."""
    said = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
    return bool(said & {"nccl", "hccl"}) and any(ctx.called_name(c) in _DDP for c in ctx.nodes(ast.Call))


def _selects(ctx: ModuleContext) -> bool:
    return any(a.attr in ("set_device", "set_default_device") for a in ctx.nodes(ast.Attribute))


RULE = Rule(
    "NPU116",
    "process-group-device",
    _MESSAGE,
    Safety.SAFE,
    ("init_process_group", "DistributedDataParallel"),
    (ast.Call,),
    run,
)
