"""`torch.profiler` with CUDA activities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    is_true,
    string_of,
)

_MESSAGE = Message(
    title=Text("`{code}` records CUDA kernels", "`{code}` 记录的是 CUDA 核函数"),
    cause=Text(
        "there are none on an NPU, so the device side of the profile stays empty",
        "NPU 上没有 CUDA 核函数，性能数据的设备侧为空",
    ),
    fix=Text(
        "profile with torch_npu.profiler; its profile, schedule, ProfilerAction and "
        "tensorboard_trace_handler are classes of their own and move together",
        "改用 torch_npu.profiler；其 profile、schedule、ProfilerAction、"
        "tensorboard_trace_handler 为独立的类，须一并替换",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-profiler.md",
    ),
)
_SORT = Message(
    title=Text("{code} is not a column of an NPU profile", "{code} 不是 NPU 性能数据的列"),
    cause=Text(
        "torch_npu's profiler has no key_averages table sorted by CUDA time",
        "torch_npu 的 profiler 没有按 CUDA 时间排序的 key_averages 表",
    ),
    fix=Text("read the exported timeline and kernel tables instead", "请改为查看导出的时间线与算子表"),
    severity=Severity.WARNING,
    sources=_MESSAGE.sources,
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """An activity, a `use_cuda=True`, or a sort key."""
    if isinstance(node, ast.Attribute):
        if ctx.qualified_name(node) in (
            "torch.profiler.ProfilerActivity.CUDA",
            "torch.autograd.ProfilerActivity.CUDA",
        ):
            yield change(ctx, node)
    elif isinstance(node, ast.keyword):
        call = ctx.parent(node)
        path = (ctx.called_name(call) or "") if call is not None else ""
        if node.arg == "use_cuda" and is_true(node.value) and path.startswith("torch.autograd.profiler"):
            yield change(ctx, node)
        elif node.arg == "sort_by" and (string_of(node.value) or "").startswith(("cuda_", "self_cuda_")):
            yield change(ctx, node, message=_SORT)


RULE = Rule(
    "NPU113",
    "cuda-profiler-activity",
    _MESSAGE,
    Safety.MANUAL,
    ("ProfilerActivity", "use_cuda", "cuda_time"),
    (ast.Attribute, ast.keyword),
    run,
)
