"""Extensions compiled with nvcc."""

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
    keyword_of,
    string_of,
)

_SOURCE = "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-utils-cpp_extension.md"
_MESSAGE = Message(
    title=Text("`{code}` compiles CUDA sources", "`{code}` 会编译 CUDA 源码"),
    cause=Text(
        "an NPU machine has no nvcc, and CUDA kernels do not run on an NPU",
        "NPU 机器没有 nvcc，CUDA 核函数也无法在 NPU 上运行",
    ),
    fix=Text(
        "express the kernel in torch operators, Ascend C or triton-ascend; "
        "torch_npu.utils.cpp_extension.NpuExtension builds C++ only",
        "请用 torch 算子、Ascend C 或 triton-ascend 实现该算子；"
        "torch_npu.utils.cpp_extension.NpuExtension 只能构建 C++",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_MODULE = "torch.utils.cpp_extension."


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """CUDAExtension, CUDA_HOME, load(..., *.cu) and load_inline(cuda_sources=)."""
    if isinstance(node, ast.Call):
        path = ctx.called_name(node) or ""
        if path in (f"{_MODULE}CUDAExtension", f"{_MODULE}load_inline", f"{_MODULE}load"):
            plain = not path.endswith("CUDAExtension") and not _has_cuda(node)
            if not plain:
                yield change(ctx, node)
        return
    assert isinstance(node, ast.Attribute)
    if ctx.qualified_name(node) == f"{_MODULE}CUDA_HOME":
        yield change(ctx, node)


def _has_cuda(node: ast.Call) -> bool:
    if keyword_of(node, "cuda_sources") is not None or keyword_of(node, "with_cuda") is not None:
        return True
    return any((string_of(n) or "").endswith((".cu", ".cuh")) for n in ast.walk(node))


RULE = Rule(
    "NPU128", "cuda-extension", _MESSAGE, Safety.MANUAL, ("cpp_extension",), (ast.Call, ast.Attribute), run
)
