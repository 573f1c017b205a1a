"""Several `.cpu()` / `.numpy()` copies of one step: told together, with the packed form."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.words import SOURCE_COPY, by_heat, message

_TITLE = by_heat(
    "{reads} copies to the host in one step, <when>", "同一步内有 {reads} 次拷贝到主机（<when>）"
)
_CAUSE = Text(
    "each copy drains the stream and pays a fixed cost; packing needs the dtypes and shapes, which the "
    "text does not prove",
    "每次拷贝都会排空流并付出固定开销；合并需要知道 dtype 和形状，而源码无法证明这一点",
)
_FIX = Text(
    "if {values} share a dtype, pack them: packed = torch.cat([t.reshape(-1) for t in (...)]).cpu(), then "
    "split and "
    "reshape on the host; or keep the rollout buffer on the host and copy once",
    "如果 {values} 的 dtype 相同，可合并：packed = torch.cat([t.reshape(-1) for t in (...)]).cpu()，"
    "再在主机上拆分并恢复形状；"
    "或将 rollout 缓冲区放在主机上，只拷贝一次",
)
_MESSAGE = Message(
    Text("several copies to the host in one step", "同一步内多次拷贝到主机"),
    _CAUSE,
    _FIX,
    sources=(SOURCE_COPY,),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every group of copies that stand together."""
    del node
    for group in analyse(ctx).copies:
        heat = group[0].heat
        values = ", ".join(dict.fromkeys(ctx.text(r.value)[:40] for r in group))
        told = message(_TITLE[heat], _CAUSE, _FIX, heat, SOURCE_COPY)
        yield change(
            ctx,
            group[0].node,
            message=told,
            reads=len(group),
            syncs=len(group),
            values=values,
            heat=heat.value,
        )


RULE = Rule(
    "NPU205",
    "host-copies-of-one-step",
    _MESSAGE,
    Safety.MANUAL,
    (".cpu(", ".numpy(", ".tolist("),
    (ast.Module,),
    run,
    also_dual=True,
)
