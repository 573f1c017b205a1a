"""Stage 8: a run that stops, is saved and goes on must equal the run that never stopped."""

from __future__ import annotations

import math

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed
from npudoctor.smoke_test.training import Run, fail_on, finished, gate, train

_CODE = "NPU308"
_TIMEOUT_S = 300.0
_SHAPE = ("--num-envs", "8", "--rollout-steps", "256", "--minibatch", "64", "--eval-episodes", "2")
_WHOLE, _HALF = ("--total-steps", "1024"), ("--total-steps", "512")
# The CPU repeats to the last bit. A device may order its sums differently from run to run.
RTOL = {"cpu": 0.0, "npu": 0.02, "sim": 0.0}

_PASSED = Text(
    "2 updates, save, load, 2 updates equal 4 updates ({exactness}); loads on the CPU",
    "2 次更新、保存、加载、再 2 次更新与连续 4 次更新一致（{exactness}）；可在 CPU 上加载",
)
_EXACT_WORDS = Text("to the last bit", "逐位相同")
_CLOSE_WORDS = Text("within {limit:.0%}", "相差不超过 {limit:.0%}")
_DIFFERENT_TITLE = Text(
    "update {update} after loading: {name} is {found:.6g}, without the stop it was {expected:.6g}",
    "加载后第 {update} 次更新：{name} 为 {found:.6g}，不中断时为 {expected:.6g}",
)
_DIFFERENT_CAUSE = Text(
    "something that the next update depends on is not in the checkpoint, or did not survive the way "
    "through the file: "
    "weights, optimiser moments, random states, observation statistics or the environments",
    "下一次更新所依赖的某项内容未被保存或在存取中丢失：权重、优化器动量、随机数状态、观测统计量或环境状态",
)


def run(context: Context) -> Outcome:
    """Whole run, first half, second half; then load on the CPU what a device saved.

    Without --quick the second half runs in a fresh process, so that nothing can survive
    outside the file.
    """
    path = str(context.folder / "checkpoint.pt")
    full, half = (*_SHAPE, *_WHOLE), (*_SHAPE, *_HALF, "--checkpoint", path)
    groups = ((full, half), ((*full, "--resume", path),))
    done: list[Run] = []
    for group in groups:
        child = train(context, context.kind, *group, timeout_s=_TIMEOUT_S)
        runs = finished(child, len(group))
        if len(runs) < len(group):
            return causes.no_result(_CODE, child, context)
        done.extend(runs)
    if context.kind != "cpu":
        host = train(context, "cpu", (*_SHAPE, *_WHOLE, "--resume", path), timeout_s=_TIMEOUT_S)
        if not finished(host):
            return causes.no_result(_CODE, host, context)
    whole, rest = done[0], done[2]
    limit = RTOL[context.kind]
    params = differs(whole.losses()[2:], rest.losses(), limit)
    facts = {"limit": limit, "expected": whole.losses()[2:], "found": rest.losses()}
    findings = tuple(gate(_CODE, rest, context.kind))
    outcome = fail_on(findings, child, facts)
    if outcome is not None:
        return outcome
    if params:
        return failed(Phrase(_DIFFERENT_TITLE, params), _finding(params, path), child, facts=facts)
    exactness = Phrase(_EXACT_WORDS) if limit == 0 else Phrase(_CLOSE_WORDS, {"limit": limit})
    return passed(_PASSED, {"exactness": exactness}, findings=findings, facts=facts)


def _finding(params: dict[str, object], path: str) -> Finding:
    return Finding(
        _CODE,
        "resume-differs",
        Severity.ERROR,
        _DIFFERENT_TITLE,
        _DIFFERENT_CAUSE,
        params=params,
        evidence=(Evidence("checkpoint", path),),
    )


def differs(
    expected: list[dict[str, float]], found: list[dict[str, float]], rtol: float
) -> dict[str, object]:
    """The first loss term outside `rtol`, as parameters of a message; empty when there is none."""
    if len(expected) != len(found):
        return {"update": 0, "name": "updates", "expected": float(len(expected)), "found": float(len(found))}
    for update, (there, here) in enumerate(zip(expected, found), start=3):
        for name, value in there.items():
            if not abs(here[name] - value) <= rtol * abs(value) or math.isnan(value):
                return {"update": update, "name": name, "expected": value, "found": here[name]}
    return {}


STAGE = Stage(code=_CODE, slug="checkpoint", title=Text("checkpoint round trip", "检查点存取"), run=run)
