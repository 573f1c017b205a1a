"""`attn_implementation="flash_attention_2"` of transformers."""

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
    title=Text("`{code}` asks for the flash_attn package", "`{code}` 需要 flash_attn 包"),
    cause=Text(
        "flash_attn is built for CUDA; newer transformers route this choice to an NPU kernel, older "
        "ones raise",
        "flash_attn 面向 CUDA；较新的 transformers 会转用 NPU 算子，较旧的会报错",
    ),
    fix=Text(
        'attn_implementation="sdpa" works everywhere; keep flash_attention_2 only with a transformers '
        "that supports it on NPUs",
        'attn_implementation="sdpa" 处处可用；仅当 transformers 支持 NPU 时才保留 flash_attention_2',
    ),
    severity=Severity.WARNING,
    sources=("https://github.com/huggingface/transformers/pull/36383",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One keyword argument."""
    assert isinstance(node, ast.keyword)
    if node.arg in ("attn_implementation", "_attn_implementation"):
        if (string_of(node.value) or "").startswith("flash_attention"):
            yield change(ctx, node)
    elif node.arg == "use_flash_attention_2":
        yield change(ctx, node)


RULE = Rule("NPU132", "flash-attention", _MESSAGE, Safety.MANUAL, ("flash_attention",), (ast.keyword,), run)
