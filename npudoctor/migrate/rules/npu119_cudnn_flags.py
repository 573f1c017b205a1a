"""`torch.backends.cudnn` and `torch.backends.cuda`: what is harmless, what has a counterpart."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from npudoctor.migrate.api import (
    Change,
    Edit,
    Message,
    ModuleContext,
    Rule,
    Safety,
    Severity,
    Text,
    change,
    lookup_api,
)

_MESSAGE = Message(
    title=Text("`{path}` steers a CUDA library", "`{path}` 用于控制 CUDA 库"),
    cause=Text("an NPU does not read it", "NPU 不读取该设置"),
    fix=Text("it can stay, and does nothing there", "可以保留，在 NPU 上不起作用"),
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/"
        "torch-backends.md",
    ),
)


@functools.cache
def _message(name: str) -> Message:
    api = lookup_api(name)
    assert api is not None
    en, zh = (t.replace("{", "{{").replace("}", "}}") for t in api.note)
    severity = Severity.NOTE if api.action == "keep" or "no effect" in en else Severity.WARNING
    return Message(_MESSAGE.title, Text(en, zh), Text(en, zh), severity, (api.source,))


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One complete chain under torch.backends.cudnn or torch.backends.cuda."""
    assert isinstance(node, ast.Attribute)
    above = ctx.parent(node)
    if isinstance(above, ast.Attribute) and above.value is node:
        return
    path = ctx.qualified_name(node) or ""
    if not path.startswith(("torch.backends.cudnn.", "torch.backends.cuda.")):
        return
    api = lookup_api(path)
    if api is None or not api.note[0]:
        return
    if api.action == "rewrite" and api.available(ctx.settings.torch_npu) and not ctx.settings.portable:
        start, end = ctx.span(node)
        torch = (
            ctx.source[start : ctx.source.index(".backends", start, end)]
            if ".backends" in ctx.text(node)
            else ""
        )
        if torch:
            tail = path[len(api.name) :]
            new = torch + api.target[len("torch") :] + tail
            yield change(ctx, node, Edit(start, end, new), message=_message(api.name), path=path)
        return
    yield change(ctx, node, message=_message(api.name), path=path)


RULE = Rule("NPU119", "cudnn-flags", _MESSAGE, Safety.SAFE, ("cudnn", "backends.cuda"), (ast.Attribute,), run)
