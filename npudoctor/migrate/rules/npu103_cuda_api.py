"""Every public name under `torch.cuda`, by the table of what the real torch_npu wheels define."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import replace

from npudoctor.migrate import portable
from npudoctor.migrate.api import (
    Api,
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
    is_simulator_name,
    literals,
    lookup_api,
    module_node,
    name_of_target,
    resolved_api,
    role_of,
)

_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/docs/zh/api/native_api/pytorch_2-13-0/torch-cuda.md"
)
_LEFT_CAUSES = {
    "silent": Text(
        "without CUDA this raises nothing: it answers as if there were no accelerator, or does nothing",
        "没有 CUDA 时不会报错，只会返回“没有加速器”或什么都不做",
    ),
    "loud": Text("without CUDA this raises", "没有 CUDA 时会报错"),
    "works": Text(
        "it works without CUDA too, but says so by CUDA's name", "没有 CUDA 时也可用，但使用的是 CUDA 的名称"
    ),
    "unknown": Text(
        "it speaks to the CUDA runtime, which an NPU machine does not have",
        "它面向 CUDA 运行时，而 NPU 机器上没有",
    ),
}
_MISSING = Message(
    title=Text(
        "`{path}` has no counterpart in torch_npu {version}",
        "torch_npu {version} 中没有与 `{path}` 对应的接口",
    ),
    cause=Text(
        "of the wheels that were read, `{target}` is in: {present}",
        "在已读取的 wheel 中，`{target}` 存在于：{present}",
    ),
    fix=Text(
        "pair a torch_npu that has it, or replace the call", "请换用具备该接口的 torch_npu，或替换该调用"
    ),
    severity=Severity.WARNING,
)
_UNKNOWN = Message(
    title=Text("`{path}` is not in the table of CUDA names", "CUDA 接口表中没有 `{path}`"),
    cause=Text(
        "it may be private or newer than the table, so nothing says what it becomes on an NPU",
        "可能是私有接口或比表更新，无法确定其在 NPU 上的对应关系",
    ),
    fix=Text(
        "look it up in the torch_npu documentation and change it by hand", "请查阅 torch_npu 文档并手工修改"
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)


_GRAPH = Message(
    title=Text("`{path}` belongs to a graph capture", "`{path}` 属于图捕获代码块"),
    cause=Text(
        "the capture itself cannot simply be renamed, and moving only its streams would split the block over "
        "two devices",
        "图捕获本身不能简单改名，而只迁移其中的流会使同一代码块分属两种设备",
    ),
    fix=Text(
        "move the whole block by hand (torch.npu.NPUGraph, torch.npu.graph), or run it without a graph",
        "请手工迁移整个代码块（torch.npu.NPUGraph、torch.npu.graph），或不使用图捕获",
    ),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_TOGETHER = Message(
    title=Text("`{path}` decides something that stayed", "`{path}` 所决定的内容保持不变"),
    cause=Text(
        "it guards a device string that was not proved to be torch's, or a GPU kernel; moving the question "
        "alone would choose the wrong branch",
        "它控制的设备字符串无法证明属于 torch，或是 GPU 核函数；只改判断会选错分支",
    ),
    fix=Text("change both by hand, or leave both", "请手工同时修改两处，或都保持不变"),
    severity=Severity.WARNING,
    sources=(_SOURCE,),
)
_NEEDS_CARD = Message(
    title=Text("`{path}` needs a card", "`{path}` 需要有加速卡"),
    cause=Text(
        "where there is neither an NPU nor a CUDA device it raises, as it did before",
        "既没有 NPU 也没有 CUDA 设备时会报错，与原代码相同",
    ),
    fix=Text(
        'put it behind `if accelerator_type != "cpu":` if the program shall run there too',
        '若程序也需在 CPU 上运行，请将其放在 `if accelerator_type != "cpu":` 之后',
    ),
    sources=("https://docs.pytorch.org/docs/stable/cuda.html",),
)
_GRAPH_NAMES = frozenset({"torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.make_graphed_callables"})
_GRAPH_PARTNERS = frozenset({"Stream", "stream", "current_stream", "set_stream", "default_stream"})


@functools.cache
def _message(name: str) -> Message:
    """The words for one row: its note where it has one."""
    api = lookup_api(name)
    assert api is not None
    left = _LEFT_CAUSES[api.if_left]
    en, zh = (text.replace("{", "{{").replace("}", "}}") for text in api.note)
    cause = Text(f"{left.en}; {en}" if en else left.en, f"{left.zh}；{zh}" if zh else left.zh)
    if api.action == "rewrite":
        title = Text("`{path}` asks CUDA", "`{path}` 访问的是 CUDA")
        return Message(title, cause, Text("use {target}", "改用 {target}"), sources=(api.source,))
    title = Text("`{path}` cannot simply be renamed", "`{path}` 不能简单改名")
    fix = Text(en or "see the page of this rule", zh or "参见该规则的说明页")
    return Message(title, cause, fix, Severity.WARNING, (api.source,))


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Rename one `torch.cuda...` chain, or report why it cannot be renamed."""
    assert isinstance(node, ast.Attribute)
    path = resolved_api(ctx, node)
    if path is None:
        return
    api = lookup_api(path)
    version = ctx.settings.torch_npu
    if api is None:
        yield change(ctx, node, message=_UNKNOWN, path=path)
        return
    if api.action == "keep":
        return
    if api.action != "rewrite":
        yield change(ctx, node, message=_message(api.name), path=path)
    elif not api.available(version):
        present = ", ".join(sorted(api.present_in)) or "-"
        yield change(
            ctx,
            node,
            message=replace(_MISSING, sources=(api.source,)),
            path=path,
            target=api.target,
            version=version,
            present=present,
        )
    elif _in_graph_block(ctx, node, api):
        yield change(ctx, node, message=_GRAPH, path=path)
    elif _chooses_unknown(ctx, node):
        yield change(ctx, node, message=_TOGETHER, path=path)
    elif not _chooses_simulator_device(ctx, node) and not _is_default_type(ctx, node):
        inner = module_node(ctx, node)
        if inner is not None:  # behind an alias, the import statement is what changes
            edits = _edits(ctx, node, inner, api)
            raises = ctx.settings.portable and api.if_left == "loud" and portable.needs_card(ctx, node, inner)
            message = _NEEDS_CARD if raises else _message(api.name)
            yield change(ctx, node, *edits, message=message, path=path, target=api.target)


def _in_graph_block(ctx: ModuleContext, node: ast.AST, api: Api) -> bool:
    """Streams beside a graph capture: half of a block on each device is worse than none."""
    if api.name.rsplit(".", 1)[-1] not in _GRAPH_PARTNERS:
        return False
    unit = ctx.enclosing_function(node)
    return any(
        (ctx.qualified_name(other) or "") in _GRAPH_NAMES and ctx.enclosing_function(other) is unit
        for other in ctx.nodes(ast.Attribute)
    )


def _chooses_simulator_device(ctx: ModuleContext, node: ast.AST) -> bool:
    """`sim_device="cuda:0" if torch.cuda.is_available() else "cpu"`: the question goes with the string."""
    for above in ctx.ancestors(node):
        if isinstance(above, ast.keyword) and is_simulator_name(above.arg):
            return True
        if isinstance(above, ast.Assign):
            return is_simulator_name(name_of_target(above.targets[0]))
        if isinstance(above, ast.stmt):
            return False
    return False


def _chooses_unknown(ctx: ModuleContext, node: ast.AST) -> bool:
    """The question of a ternary whose string stays, or of a switch for GPU kernels, must stay too."""
    for above in ctx.ancestors(node):
        if isinstance(above, ast.IfExp):
            words = [w for w in literals(ctx) if w.word == "cuda" and ctx.inside(w.node, above)]
            if any(role_of(ctx, word.node) is Role.UNKNOWN for word in words):
                return True
        if isinstance(above, ast.BoolOp) and "triton" in ctx.text(above).lower():
            return True
        if isinstance(above, ast.Assign):
            return "triton" in (name_of_target(above.targets[0]) or "").lower()
        if isinstance(above, ast.stmt):
            return False
    return False


def _is_default_type(ctx: ModuleContext, node: ast.AST) -> bool:
    return any(
        isinstance(above, ast.Call) and ctx.called_name(above) == "torch.set_default_tensor_type"
        for above in ctx.ancestors(node)
    )


def _edits(ctx: ModuleContext, node: ast.Attribute, inner: ast.Attribute, api: Api) -> list[Edit]:
    """`torch.cuda` -> `torch.npu` in the chain, and keywords that are named differently."""
    start, end = ctx.span(inner)
    if api.target.startswith("torch.") and not api.target.startswith("torch.npu."):
        new = ctx.text(inner.value) + api.target[len("torch") :]
        return [Edit(start, ctx.span(node)[1], new)]
    group = f"api{start}"
    if ctx.settings.portable:
        if not can_pick(ctx):
            return []
        edits = [Edit(start, end, portable.module_text(ctx, node, inner), group)]
    else:
        edits = [Edit(end - len("cuda"), end, "npu", group)]
    call = ctx.parent(node)
    names = dict(api.keywords)
    if not isinstance(call, ast.Call) or call.func is not node or not names:
        return edits
    for keyword in call.keywords:
        if keyword.arg in names:
            at, _ = ctx.span(keyword)
            if not ctx.settings.portable:
                edits.append(Edit(at, at + len(keyword.arg), names[keyword.arg], group))
            elif not call.args and keyword is call.keywords[0]:  # by position it has no name to differ
                edits.append(Edit(at, ctx.span(keyword.value)[0], "", group))
            else:
                return []
    return edits


RULE = Rule("NPU103", "cuda-api", _MISSING, Safety.SAFE, ("cuda",), (ast.Attribute,), run)
