"""`torch.compile`."""

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

_MESSAGE = Message(
    title=Text(
        "`{code}` compiles with a backend that needs more on an NPU", "`{code}` 的编译后端在 NPU 上有额外要求"
    ),
    cause=Text(
        "the default backend generates Triton kernels: on an NPU that needs triton-ascend, and "
        "projects report it slower than eager or failing",
        "默认后端会生成 Triton 核函数：在 NPU 上需要 triton-ascend，已有项目反映其比 eager 更慢或失败",
    ),
    fix=Text(
        "measure eager first; compile only with triton-ascend installed, and keep a switch to turn it off",
        "请先测量 eager 模式；安装 triton-ascend 后再启用编译，并保留关闭开关",
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/triton-lang/triton-ascend/issues/424",),
)
_GRAPHS = Message(
    title=Text("the backend {backend} captures CUDA graphs", "后端 {backend} 用于捕获 CUDA 图"),
    cause=Text("torch_npu registers npugraphs instead", "torch_npu 注册的是 npugraphs"),
    fix=Text(
        'backend="npugraphs" on a torch_npu that has it; capture is documented for inference',
        '在具备该后端的 torch_npu 上使用 backend="npugraphs"；文档仅支持推理场景',
    ),
    severity=Severity.WARNING,
    sources=("https://pypi.org/project/torch-npu/2.13.0/",),
)
_NO_KERNELS = ("eager", "aot_eager", "npu", "npugraphs", "npugraph_ex")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A call `torch.compile(...)` or a bare decorator."""
    if isinstance(node, ast.Call):
        if ctx.called_name(node) != "torch.compile":
            return
        backend = keyword_of(node, "backend")
        name = string_of(backend.value) if backend is not None else None
        if name == "cudagraphs":
            yield change(ctx, node, message=_GRAPHS, backend=name)
        elif name not in _NO_KERNELS:
            yield change(ctx, node)
        return
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for decorator in node.decorator_list:
        if ctx.qualified_name(decorator) == "torch.compile":
            yield change(ctx, decorator)


RULE = Rule(
    "NPU121",
    "torch-compile",
    _MESSAGE,
    Safety.MANUAL,
    ("torch.compile", ("compile", "from torch import")),
    (ast.Call, ast.FunctionDef, ast.AsyncFunctionDef),
    run,
)
