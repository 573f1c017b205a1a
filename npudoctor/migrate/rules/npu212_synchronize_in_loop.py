"""`synchronize()` and `empty_cache()` in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Message, ModuleContext, Rule, Safety, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.hidden import SYNCHRONIZE
from npudoctor.migrate.sync.words import by_heat, message

_TITLE = by_heat("`{code}` waits for the whole device <when>", "`{code}` <when>等待整个设备")
_CAUSE = Text(
    "it orders nothing that the stream does not already order; every read of a result waits by itself",
    "它并不会带来流本身没有的顺序保证；每次读取结果时本来就会等待",
)
_FIX = Text("delete it, or keep it only around a time measurement", "删除它，或仅在计时前后保留")
_CACHE_CAUSE = Text(
    "empty_cache() synchronises the device and gives back memory that the next step asks for again",
    "empty_cache() 会同步设备，并归还下一步又要申请的内存",
)
_CACHE_FIX = Text(
    "delete it, or call it once after start-up; against fragmentation set PYTORCH_NPU_ALLOC_CONF",
    "删除它，或仅在启动后调用一次；内存碎片问题请通过 PYTORCH_NPU_ALLOC_CONF 解决",
)
_MESSAGE = Message(
    Text("the whole device is synchronised in a loop", "循环中同步整个设备"),
    _CAUSE,
    _FIX,
    sources=(
        "https://github.com/Ascend/pytorch/blob/9e73e708/torch_npu/csrc/core/npu/NPUCachingAllocator.cpp",
    ),
)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Every explicit synchronisation in a loop; a time measurement nearby excuses synchronize()."""
    del node
    for wait in analyse(ctx).waits:
        if wait.kind == SYNCHRONIZE and not _is_timed(ctx, wait.node):
            cache = _empties_cache(ctx, wait.node)
            words = (_CACHE_CAUSE, _CACHE_FIX) if cache else (_CAUSE, _FIX)
            told = message(_TITLE[wait.heat], *words, wait.heat, *_MESSAGE.sources)
            yield change(ctx, wait.node, message=told, heat=wait.heat.value, syncs=1)


def _empties_cache(ctx: ModuleContext, node: ast.expr) -> bool:
    return ctx.text(node).split("(")[0].endswith("empty_cache")


def _is_timed(ctx: ModuleContext, node: ast.expr) -> bool:
    if _empties_cache(ctx, node):
        return False
    above = ctx.parent(ctx.statement(node))
    return above is not None and any(
        isinstance(n, ast.Attribute) and n.attr in ("time", "perf_counter", "monotonic", "elapsed_time")
        for n in ast.walk(above)
    )


RULE = Rule(
    "NPU212",
    "synchronize-in-loop",
    _MESSAGE,
    Safety.MANUAL,
    ("synchronize(", "empty_cache("),
    (ast.Module,),
    run,
    also_dual=True,
)
