"""torch.distributions validates its arguments on the host: the largest hidden source of syncs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npudoctor.migrate.api import Change, Edit, Message, ModuleContext, Rule, Safety, Severity, Text, change
from npudoctor.migrate.sync.analysis import analyse
from npudoctor.migrate.sync.forms import after_statement, before_statement, indent_of, indent_unit
from npudoctor.migrate.sync.hazards import torch_name
from npudoctor.migrate.sync.lossname import free_name, naming, scalar
from npudoctor.migrate.sync.validation import Construction, Place, constructions, places

_SHARE = (
    "traced in unmodified PPO scripts of CleanRL and stable-baselines3, this validation made 88 to 93 "
    "percent of all "
    "scalar reads, explicit .item() calls only 7 to 12"
)
_SHARE_ZH = (
    "对未修改的 CleanRL 与 stable-baselines3 PPO 脚本的跟踪显示："
    "这类校验占全部标量读取的 88% 至 93%，显式 .item() 只占 7% 至 12%"
)
_TITLE = Text(
    "`{code}` checks its arguments on the host (scalar reads: {construct} to build it, {log_prob} per "
    "log_prob)",
    "`{code}` 在主机上校验参数（标量读取：构造时 {construct} 次，每次 log_prob {log_prob} 次）",
)
_CAUSE = Text(
    "torch.distributions validates arguments with `if not valid.all()`, which waits for the device each "
    "time; " + _SHARE,
    "torch.distributions 用 `if not valid.all()` 校验参数，每次都等待设备；" + _SHARE_ZH,
)
_FIX = Text(
    "pass validate_args=False and check the loss once per update. The numbers stay; a NaN then raises at "
    "the end of the "
    "update instead of at once. Applied with --unsafe-fixes only",
    "传入 validate_args=False，并在每次更新后检查一次损失。数值不变；但出现 NaN 时会在更新结束时报错，"
    "而不是立即报错。仅在 --unsafe-fixes 时应用",
)
_LEFT_FIX = Text(
    "pass validate_args=False where the distribution is built, and test the loss with torch.isfinite once "
    "per update; "
    "here it is not certain how the arguments are passed or where such a test can stand",
    "在构造分布处传入 validate_args=False，并在每次更新后用 torch.isfinite 检查损失；"
    "此处无法确定参数传递方式或检查应放置的位置",
)
_MESSAGE = Message(
    _TITLE,
    _CAUSE,
    _FIX,
    Severity.WARNING,
    ("https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributions/distribution.py",),
)
_CHECK = Message(
    Text(
        "one finite check per update takes the place of validation in every step",
        "每次更新一次有限性检查，取代每一步的参数校验",
    ),
    _CAUSE,
    _FIX,
    Severity.NOTE,
    _MESSAGE.sources,
)
# Never one without the other: validation goes only together with the check of the same file.
_GROUP = "validation"
_ERROR = "the loss is not finite: the policy diverged or an input is invalid"
_LEFT_MESSAGE = Message(_TITLE, _CAUSE, _LEFT_FIX, Severity.WARNING, _MESSAGE.sources)


def run(node: ast.AST, ctx: ModuleContext) -> Iterator[Change]:
    """Constructions that validate, and the check that replaces validation."""
    del node
    analysis = analyse(ctx)
    modules = ctx.project.facts("sync_validation")
    elsewhere = [m for path, m in modules.items() if path != ctx.path]
    if analysis.is_test or any(m.off for m in elsewhere):
        return
    built = constructions(ctx)
    where = places(ctx, analysis.loops)
    # Another file's check counts only when every file that learns has one:
    # nobody knows which of them uses this policy.
    covered = any(m.places for m in elsewhere) and not any(m.uncovered for m in elsewhere)
    checked = bool(where) or covered or _already_checked(ctx)
    for construction in built:
        heat = analysis.loops.paced(construction.call)
        edits = () if construction.guarded or not checked else _switch_off(ctx, construction)
        yield change(
            ctx,
            construction.call,
            *edits,
            message=_MESSAGE if edits else _LEFT_MESSAGE,
            heat=heat.value,
            syncs=construction.checks.construct,
            construct=construction.checks.construct,
            log_prob=construction.checks.log_prob,
        )
    wanted = any(not c.guarded for c in built) or (
        any(m.constructions for m in elsewhere) and not any(m.uncovered for m in elsewhere)
    )
    if ctx.settings.unsafe and wanted:  # without the other half the check would only cost a sync
        for place in where:
            edits = _finite_check(ctx, place)
            if edits:
                yield change(
                    ctx,
                    place.loop.target if isinstance(place.loop, ast.For) else place.loop,
                    *edits,
                    message=_CHECK,
                    heat=analysis.loops.of(place.loop).value,
                    syncs=0,
                )


def _already_checked(ctx: ModuleContext) -> bool:
    return ".backward(" in ctx.source and "isfinite(" in ctx.source


def _switch_off(ctx: ModuleContext, construction: Construction) -> tuple[Edit, ...]:
    """Add the keyword after the last argument; nothing where parentheses or comments stand in between."""
    call = construction.call
    arguments = [*call.args, *(k.value for k in call.keywords)]
    last = max(ctx.span(a)[1] for a in arguments) if arguments else 0
    _, end = ctx.span(call)
    if not arguments or ctx.source[last : end - 1].strip() not in ("", ","):
        return ()
    return (Edit(last, last, ", validate_args=False", _GROUP),)


def _finite_check(ctx: ModuleContext, place: Place) -> tuple[Edit, ...]:
    """The check after the loop, and a value before it: a loop that runs no pass has nothing to check."""
    indent, torch = indent_of(ctx, place.loop), torch_name(ctx, place.loop)
    if indent is None or torch is None:
        return ()
    end, missing = after_statement(ctx, place.loop)
    unit = indent_unit(ctx, place.loop)
    names = [loss.name or free_name(ctx, loss.call) for loss in place.losses]
    checked = names[0] if len(names) == 1 else " + ".join(map(scalar, place.losses, names))
    lines = f'{indent}if not {torch}.isfinite({checked}).all():\n{indent}{unit}raise ValueError("{_ERROR}")\n'
    start = before_statement(ctx, place.loop)
    zeros = "".join(f"{indent}{name} = {torch}.zeros(())\n" for name in names)
    pairs = zip(place.losses, names)
    named = [part for loss, name in pairs if loss.name is None for part in naming(ctx, loss, name)]
    return (
        Edit(start, start, zeros, _GROUP),
        *(Edit(at, to, text, _GROUP) for at, to, text in named),
        Edit(end, end, ("\n" + lines[:-1]) if missing else lines, _GROUP),
    )


RULE = Rule(
    "NPU207",
    "distribution-validation",
    _MESSAGE,
    Safety.UNSAFE,
    ("torch.distributions", "backward("),
    (ast.Module,),
    run,
    also_dual=True,
)
