"""`share_memory()`: parameters shared between processes."""

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
    uses_accelerator,
)

_MESSAGE = Message(
    title=Text("`{code}` shares memory between processes", "`{code}` 在进程间共享内存"),
    cause=Text(
        "tensors on an NPU cannot be shared this way; only memory of the host can",
        "NPU 上的张量不能这样共享，只有主机内存可以",
    ),
    fix=Text(
        "keep the shared copy on the host, and copy to the device in each process",
        "请将共享副本保留在主机上，并在各进程中拷贝到设备",
    ),
    severity=Severity.WARNING,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-nn.md",
    ),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One call of the method in a module that uses an accelerator."""
    assert isinstance(node, ast.Call)
    named = isinstance(node.func, ast.Attribute) and node.func.attr in ("share_memory", "share_memory_")
    if named and not node.args and ctx.imports_torch and uses_accelerator(ctx):
        yield change(ctx, node)


RULE = Rule("NPU135", "shared-device-memory", _MESSAGE, Safety.MANUAL, ("share_memory",), (ast.Call,), run)
