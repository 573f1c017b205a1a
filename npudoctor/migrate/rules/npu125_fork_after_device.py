"""Worker processes started by fork in a program that uses the device."""

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
    string_of,
)

_MESSAGE = Message(
    title=Text("`{code}` forks a process that may hold an NPU", "`{code}` 会 fork 可能已占用 NPU 的进程"),
    cause=Text(
        "a forked child cannot re-initialize the NPU: 'Cannot re-initialize NPU in forked subprocess'; "
        "even asking for a device's name initializes it",
        "fork 出的子进程无法重新初始化 NPU（Cannot re-initialize NPU in forked subprocess）；"
        "仅查询设备名也会触发初始化",
    ),
    fix=Text(
        "use the spawn or forkserver start method, or start the workers before the first use of the device",
        "请使用 spawn 或 forkserver 启动方式，或在首次使用设备之前启动子进程",
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/vllm-project/vllm-ascend/issues/4502",),
)
_METHODS = ("get_context", "set_start_method")


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """`get_context("fork")` or `set_start_method("fork")` of a multiprocessing module."""
    assert isinstance(node, ast.Call)
    path = ctx.called_name(node) or ""
    module, _, name = path.rpartition(".")
    if name not in _METHODS or not module.endswith("multiprocessing"):
        return
    method = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "method"), None)
    if string_of(method) == "fork" and ctx.imports_torch:
        yield change(ctx, node)


RULE = Rule("NPU125", "fork-after-device", _MESSAGE, Safety.MANUAL, ('"fork"', "'fork'"), (ast.Call,), run)
