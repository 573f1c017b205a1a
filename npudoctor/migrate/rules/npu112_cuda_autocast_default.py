"""Mixed precision that silently means CUDA: `torch.amp.GradScaler()`, `*_autocast_gpu_dtype`."""

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
    argument,
    can_pick,
    change,
    has_spread,
    keyword_of,
)

_SOURCE = "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-amp.md"
_MESSAGE = Message(
    title=Text("`{code}` means CUDA when no device is named", "`{code}` 未指定设备时默认为 CUDA"),
    cause=Text(
        "without CUDA it disables itself with a warning, and the loss is not scaled",
        "没有 CUDA 时仅给出警告并自行失效，损失不再缩放",
    ),
    fix=Text("name the device type", "写明设备类型"),
    sources=(_SOURCE,),
)
_GPU_DTYPE = Message(
    title=Text("`{code}` speaks of CUDA's autocast", "`{code}` 针对 CUDA 的 autocast"),
    cause=Text("the NPU has its own autocast state", "NPU 有独立的 autocast 状态"),
    fix=Text(
        "torch.get_autocast_dtype / torch.set_autocast_dtype with the device type (torch 2.4 on)",
        "改用带设备类型的 torch.get_autocast_dtype / torch.set_autocast_dtype（torch 2.4 起）",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_FORK = Message(
    title=Text("`{code}` forks CUDA's generators", "`{code}` 保存的是 CUDA 的随机数状态"),
    cause=Text(
        "the default device_type of fork_rng is cuda: without CUDA only the CPU generator is forked",
        "fork_rng 的 device_type 默认为 cuda：没有 CUDA 时只会保存 CPU 随机数状态",
    ),
    fix=Text('add device_type="npu"', '增加 device_type="npu"'),
    sources=(_SOURCE,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One call."""
    assert isinstance(node, ast.Call)
    path = ctx.called_name(node)
    if path in ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"):
        if argument(node, 0, "device") is None and not has_spread(node):
            yield change(ctx, node, *_name_device(ctx, node, "device"))
    elif path in ("torch.get_autocast_gpu_dtype", "torch.set_autocast_gpu_dtype"):
        yield change(ctx, node, message=_GPU_DTYPE)
    elif path == "torch.random.fork_rng" and keyword_of(node, "device_type") is None and not has_spread(node):
        yield change(ctx, node, *_name_device(ctx, node, "device_type"), message=_FORK)


def _name_device(ctx: ModuleContext, node: ast.Call, keyword: str) -> list[Edit]:
    """Insert the keyword (or, where nothing else is given, the first argument)."""
    if ctx.settings.portable and not can_pick(ctx):
        return []
    value = '"npu"'
    if ctx.settings.portable:  # on a CPU it goes on meaning CUDA, and so disables itself
        value = portable.choice(value, '"cuda"')
    open_at = ctx.span(node.func)[1]
    rest = ctx.source[open_at : ctx.span(node)[1]]
    at = open_at + rest.index("(") + 1
    if keyword == "device":
        more = ", " if node.args or node.keywords else ""
        return [Edit(at, at, f"{value}{more}")]
    last = max((ctx.span(a)[1] for a in (*node.args, *node.keywords)), default=0)
    return [Edit(last, last, f", {keyword}={value}")] if last else [Edit(at, at, f"{keyword}={value}")]


RULE = Rule(
    "NPU112",
    "cuda-autocast-default",
    _MESSAGE,
    Safety.SAFE,
    ("GradScaler", "autocast_gpu_dtype", "fork_rng"),
    (ast.Call,),
    run,
)
