"""Ray resources: `num_gpus=1` waits for a GPU that never comes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Severity, Text, change

_MESSAGE = Message(
    title=Text("`{code}` asks Ray for GPUs", "`{code}` 向 Ray 申请 GPU"),
    cause=Text(
        "Ray counts NPUs under the resource NPU; a task that asks for a GPU waits for ever",
        "Ray 以资源名 NPU 统计 NPU；申请 GPU 的任务会一直等待",
    ),
    fix=Text(
        'ask for resources={{"NPU": n}} instead of num_gpus=n, and {{"NPU": n}} in placement bundles',
        '用 resources={{"NPU": n}} 代替 num_gpus=n，placement 组中使用 {{"NPU": n}}',
    ),
    severity=Severity.WARNING,
    sources=("https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html",),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """A `num_gpus=` keyword or a `"GPU"` key in a module that uses Ray."""
    if "ray" not in ctx.imported_roots:
        return
    if isinstance(node, ast.keyword):
        zero = isinstance(node.value, ast.Constant) and not node.value.value
        if node.arg in ("num_gpus", "num_gpus_per_worker", "num_gpus_per_learner") and not zero:
            yield change(ctx, node)
        return
    assert isinstance(node, ast.Dict)
    for key, value in zip(node.keys, node.values):
        if isinstance(key, ast.Constant) and key.value == "GPU" and not isinstance(value, ast.Dict):
            yield change(ctx, key)


RULE = Rule(
    "NPU129",
    "ray-gpu-resource",
    _MESSAGE,
    Safety.MANUAL,
    ("num_gpus", '"GPU"', "'GPU'"),
    (ast.keyword, ast.Dict),
    run,
)
