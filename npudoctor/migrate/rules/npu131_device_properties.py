"""Fields of `get_device_properties()` that stay empty on an NPU."""

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
    torch_path,
)

_MESSAGE = Message(
    title=Text("`.{field}` is not filled on an NPU", "`.{field}` 在 NPU 上没有值"),
    cause=Text(
        "of the device properties only name, total_memory, L2_cache_size, cube_core_num and "
        "vector_core_num are filled; {field} is not",
        "设备属性中只有 name、total_memory、L2_cache_size、cube_core_num、vector_core_num 有值，{field} 没有",
    ),
    fix=Text("use one of the filled fields, or drop the use", "请改用有值的字段，或去掉该用法"),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-cuda.md",
    ),
)
_EMPTY = frozenset(
    {
        "multi_processor_count",
        "major",
        "minor",
        "warp_size",
        "max_threads_per_multi_processor",
        "regs_per_multiprocessor",
        "shared_memory_per_block",
        "shared_memory_per_multiprocessor",
        "gcnArchName",
        "is_integrated",
        "is_multi_gpu_board",
        "uuid",
    }
)
_PATHS = ("torch.cuda.get_device_properties", "torch.npu.get_device_properties")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A field read from the call, or from a variable that only ever holds its result."""
    assert isinstance(node, ast.Attribute)
    if node.attr in _EMPTY and _is_properties(ctx, node.value):
        yield change(ctx, node, field=node.attr)


def _is_properties(ctx: ModuleContext, value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return torch_path(ctx, value.func) in _PATHS
    if not isinstance(value, ast.Name):
        return False
    given = [b.value for b in ctx.bindings(value)]
    return bool(given) and all(isinstance(v, ast.Call) and torch_path(ctx, v.func) in _PATHS for v in given)


RULE = Rule(
    "NPU131", "device-properties", _MESSAGE, Safety.MANUAL, ("get_device_properties",), (ast.Attribute,), run
)
