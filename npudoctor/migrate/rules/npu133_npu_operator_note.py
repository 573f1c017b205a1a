"""Operators that torch_npu's own documents list as unsupported, or as run on the CPU."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from npudoctor import tables
from npudoctor.migrate.api import (
    ACCELERATOR_WORDS,
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

_FALLBACK_CAUSE = Text(
    "the documents of torch_npu {versions} say that it may run on the CPU: each call then copies there and "
    "back, which drains the stream twice",
    "torch_npu {versions} 的文档说明其可能回退到 CPU 执行：每次调用都会往返拷贝，并两次等待流",
)
_UNSUPPORTED_CAUSE = Text(
    "the documents of torch_npu {versions} mark it as not supported on Atlas A2 training products",
    "torch_npu {versions} 的文档标注其在 Atlas A2 训练系列产品上不支持",
)
_MESSAGE = Message(
    title=Text("`{path}` has a note in torch_npu's documents", "torch_npu 文档对 `{path}` 有说明"),
    cause=_FALLBACK_CAUSE,
    fix=Text(
        "measure it; keep it out of the step loop, or compose it from supported operators",
        "请实测；不要放在步进循环中，或用受支持的算子组合实现",
    ),
)


@functools.cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    """Dotted path, also in the short spelling of torch.distributions -> row."""
    rows = {}
    for row in tables.load("npu_ops").rows:
        name = row["name"]
        rows[name] = row
        if name.startswith("torch.distributions."):
            rows["torch.distributions." + name.rsplit(".", 1)[-1]] = row
    return rows


@functools.cache
def _message(path: str) -> Message:
    row = _rows()[path]
    unsupported = row["problem"] == "unsupported"
    severity = Severity.WARNING if unsupported else Severity.NOTE
    cause = _UNSUPPORTED_CAUSE if unsupported else _FALLBACK_CAUSE
    return Message(_MESSAGE.title, cause, _MESSAGE.fix, severity, (row["source_url"],))


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One call, in a module that had CUDA before this run."""
    assert isinstance(node, ast.Call)
    path = ctx.called_name(node)
    if path is None or path not in _rows() or path.endswith("DataParallel") or not uses_accelerator(ctx):
        return
    row = _rows()[path]
    read = row["documented_for"].split()
    yield change(ctx, node.func, message=_message(path), path=path, versions=", ".join(read))


RULE = Rule(
    "NPU133",
    "npu-operator-note",
    _MESSAGE,
    Safety.MANUAL,
    ACCELERATOR_WORDS,
    (ast.Call,),
    run,
)
