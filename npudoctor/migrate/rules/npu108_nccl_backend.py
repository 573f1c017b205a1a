"""The collective library: `nccl` -> `hccl` in calls, defaults, comparisons and checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import (
    BACKEND,
    Change,
    Edit,
    Message,
    ModuleContext,
    Role,
    Rule,
    Safety,
    Severity,
    Text,
    can_pick,
    change,
    is_torch_project,
    other_side_of,
    role_of,
    string_of,
)

_SOURCE = "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-distributed.md"
_MESSAGE = Message(
    title=Text("{code} is NVIDIA's collective library", "{code} 是 NVIDIA 的集合通信库"),
    cause=Text(
        "a torch without CUDA has no NCCL: init_process_group raises, a comparison is never true",
        "没有 CUDA 的 torch 不含 NCCL：init_process_group 会报错，相应比较也永远不成立",
    ),
    fix=Text("use hccl, which torch_npu registers", "改用 torch_npu 注册的 hccl"),
    sources=(_SOURCE,),
)
_LEFT = Message(
    title=Text("{code} was not recognised as a backend name", "未能确认 {code} 是后端名"),
    cause=Text(
        "if it ends up in torch.distributed, it has to become hccl",
        "若它最终传给 torch.distributed，则需改为 hccl",
    ),
    fix=Text("change it by hand where it is one", "若确为后端名，请手工修改"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_PAIRS = {
    "nccl": "hccl",
    "cpu:gloo,cuda:nccl": "cpu:gloo,npu:hccl",
    "cuda:nccl,cpu:gloo": "npu:hccl,cpu:gloo",
}


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """One string constant, or the question whether NCCL is there."""
    if isinstance(node, ast.Attribute):
        if ctx.qualified_name(node) == "torch.distributed.is_nccl_available" and not ctx.settings.portable:
            end = ctx.span(node)[1]
            yield change(ctx, node, Edit(end - len("is_nccl_available"), end, "is_hccl_available"))
        elif ctx.qualified_name(node) == "torch.distributed.Backend.NCCL":
            yield change(ctx, node, message=_LEFT)
        return
    assert isinstance(node, ast.Constant)
    new = _PAIRS.get(node.value) if isinstance(node.value, str) else None
    if new is None or not is_torch_project(ctx) or isinstance(ctx.parent(node), (ast.Expr, ast.JoinedStr)):
        return
    role = role_of(ctx, node, BACKEND)
    if role is Role.DATA:
        return
    known = role is Role.PRODUCER or (
        role in (Role.COMPARISON, Role.CHOICES) and _about_backend(ctx, node, role)
    )
    if not known and not _in_own_dict(ctx, node, new):
        yield change(ctx, node, message=_LEFT)
    elif known and not _has_twin(ctx, node, new):
        yield change(ctx, node, *_edits(ctx, node, new, role))


def _has_twin(ctx: ModuleContext, node: ast.Constant, new: str) -> bool:
    """Whether the other half already stands beside it: `"hccl" if ... else "nccl"`, `["nccl", "hccl"]`."""
    above = ctx.parent(node)
    if isinstance(above, ast.IfExp):
        return any(isinstance(e, ast.Constant) and e.value == new for e in (above.body, above.orelse))
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)):
        return any(isinstance(e, ast.Constant) and e.value == new for e in above.elts)
    return False


def _in_own_dict(ctx: ModuleContext, node: ast.Constant, new: str) -> bool:
    """`{"npu": "hccl", "cuda": "nccl", "cpu": "gloo"}`: what portable style writes."""
    above = ctx.parent(node)
    return isinstance(above, ast.Dict) and any(string_of(value) == new for value in above.values)


def _about_backend(ctx: ModuleContext, node: ast.Constant, role: Role) -> bool:
    """No other thing is called nccl, so a name with `backend` in it on the other side is proof."""
    if role is Role.CHOICES:
        return True
    side = other_side_of(ctx, node)
    return side is not None and "backend" in ctx.text(side).lower()


def _edits(ctx: ModuleContext, node: ast.Constant, new: str, role: Role) -> list[Edit]:
    start, end = ctx.span(node)
    text = ctx.text(node)
    if text.count(str(node.value)) != 1:
        return []
    twin = text.replace(str(node.value), new)
    if not ctx.settings.portable:
        return [Edit(start, end, twin)]
    above = ctx.parent(node)
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)):
        return [Edit(end, end, f", {twin}")]
    if role is Role.COMPARISON or not can_pick(ctx):
        return []
    quote = text[-1]
    pairs = [("npu", twin), ("cuda", text), ("cpu", f"{quote}gloo{quote}")]
    items = ", ".join(f"{quote}{key}{quote}: {value}" for key, value in pairs)
    return [Edit(start, end, f"{{{items}}}[accelerator_type]")]


RULE = Rule(
    "NPU108", "nccl-backend", _MESSAGE, Safety.SAFE, ("nccl", "NCCL"), (ast.Constant, ast.Attribute), run
)
