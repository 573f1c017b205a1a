"""Runs of the reference PPO as the stages see them, and the gates its numbers must pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text, verbatim
from npudoctor.smoke_test.child import ChildRun, Event
from npudoctor.smoke_test.stage import Context, Outcome, failed

# A tiny run: 200 steps of one environment in two updates, so that the gate on the
# importance ratio also sees weights that have moved.
TINY = (
    "--num-envs",
    "1",
    "--rollout-steps",
    "100",
    "--minibatch",
    "50",
    "--total-steps",
    "200",
    "--eval-episodes",
    "8",
)
LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl")

# Rules of reference_ppo that say the same as a gate here.
GATED = frozenset({"non-finite", "ratio-not-one", "ratio-imprecise"})

# Ninety percent success. Seeds 0 to 8 need 8,000 to 25,000 steps; about three times that is the budget.
LEARNING_TARGET, LEARNING_STEPS = 0.9, 71_680
LEARNING_SECONDS = {"cpu": 60, "npu": 900, "sim": 300}

# Largest |log ratio| at the first minibatch. Measured over 30 updates and 3 seeds: float32
# 3e-6; rollout and update in different precision 4e-3 to 8e-2; real faults 0.28 to 22.
RATIO_EXACT, RATIO_BROKEN = 1e-4, 0.1

_BROKEN_RATIO = Text(
    "the importance ratio is not 1 before the first step: |log r| = {value:.1e}",
    "首步之前重要性比率不为 1：|log r| = {value:.1e}",
)
_BROKEN_RATIO_CAUSE = Text(
    "at the first minibatch of an update the policy is still the one that acted, so the ratio must be 1 up "
    "to rounding "
    "(3e-6 in float32). {value:.1e} means that rollout and update do not see the same observation, action "
    "or scale. A "
    "run can reach full success with this fault, so success proves nothing here",
    "一次更新的首个小批量中策略尚未改变，比率应在舍入误差内为 1（float32 约 3e-6）。{value:.1e} 说明采样与"
    "更新所见的"
    "观测、动作或尺度不同。带有此缺陷的训练仍可能达到满分，因此成功率不能证明正确",
)
_LOOSE_RATIO = Text(
    "rollout and update compute in different precision: |log r| = {value:.1e}",
    "采样与更新的计算精度不同：|log r| = {value:.1e}",
)
_LOOSE_RATIO_CAUSE = Text(
    "the ratio before the first step should be 1 within 3e-6 in float32; 4e-3 to 8e-2 is what a "
    "reduced-precision mode "
    "(HF32, float16, bfloat16) on one side only gives",
    "首步之前的比率在 float32 下应与 1 相差不超过 3e-6；4e-3 到 8e-2 通常是只有一侧启用了低精度模式（HF32、"
    "float16、bfloat16）",
)
_LOOSE_RATIO_FIX = Text(
    "set torch.npu.matmul.allow_hf32 = False, and compute log-probabilities in float32 on both sides",
    "设置 torch.npu.matmul.allow_hf32 = False，并在两侧都用 float32 计算对数概率",
)
_NON_FINITE = Text(
    "update {update}: {count:.0f} values are NaN or infinite",
    "第 {update} 次更新：{count:.0f} 个值为 NaN 或无穷",
)
_NON_FINITE_CAUSE = Text(
    "losses, gradients, rewards or observations left the finite numbers; every weight is NaN after the "
    "next step",
    "损失、梯度、奖励或观测出现非有限值；再走一步所有权重都会变成 NaN",
)
_TRANSFERS = Text(
    "{found} copies from the device in {expected} vector steps",
    "{expected} 个向量步中有 {found} 次设备到主机的拷贝",
)
_TRANSFERS_CAUSE = Text(
    "one packed copy per vector step is enough; each further one is a sync",
    "每个向量步只需一次打包拷贝；多出的每一次都是一次同步",
)
_ALARM = Text(
    "update {update}; the rule and its measured thresholds are in reference_ppo/health/rules.py",
    "第 {update} 次更新；规则及其实测阈值见 reference_ppo/health/rules.py",
)
_DEVICE = Text("asked for {wanted}, trained on {found}", "要求 {wanted}，实际在 {found} 上训练")
_DEVICE_CAUSE = Text(
    "the run fell back to another device without an error, so its results say nothing about {wanted}",
    "训练在没有报错的情况下改用了其他设备，因此结果不能说明 {wanted} 的情况",
)


@dataclass(frozen=True)
class Run:
    """Events of one training run; `alarms` are what its own health rules said."""

    start: Event
    updates: tuple[Event, ...]
    end: Event
    alarms: tuple[Event, ...] = ()

    def losses(self) -> list[dict[str, float]]:
        """The loss terms of each update; a value that was not finite is NaN."""
        return [{name: number(u["health"].get(name)) for name in LOSSES} for u in self.updates]


def runs_of(child: ChildRun) -> list[Run]:
    """The complete runs among the child's events, in order."""
    runs: list[Run] = []
    start: Event | None = None
    updates: list[Event] = []
    alarms: list[Event] = []
    for event in child.events:
        if event["event"] == "start":
            start, updates, alarms = event, [], []
        elif event["event"] == "health":
            alarms.append(event)
        elif event["event"] == "update":
            updates.append(event)
        elif event["event"] == "end" and start is not None and event["reason"] != "error":
            runs.append(Run(start, tuple(updates), event, tuple(alarms)))
            start = None
    return runs


def finished(child: ChildRun, count: int = 1) -> list[Run]:
    """The runs of a child that did all it was asked to; empty otherwise.

    A run that its own health rules stopped counts: it has a verdict, and `gate` speaks it.
    """
    runs = runs_of(child)
    stopped = bool(runs) and runs[-1].end["reason"] == "fault"
    return runs if stopped or (len(runs) >= count and child.ended_well) else []


def train(context: Context, device: str, *runs: Sequence[str], timeout_s: float) -> ChildRun:
    """Train once per option list on `device`, all in one child."""
    seed = ("--seed", str(context.plan.seed))
    words = [word for options in runs for word in ("--", *options, *seed)]
    return context.run("train", device, *words, timeout_s=timeout_s)


def learning_seconds(context: Context) -> int:
    """The time budget of learning on this device, seconds."""
    return int(LEARNING_SECONDS[context.kind] * context.plan.slower)


def learning_options(context: Context) -> tuple[str, ...]:
    """Options of the run that must reach the target."""
    return (
        "--target-success",
        str(LEARNING_TARGET),
        "--total-steps",
        str(LEARNING_STEPS),
        "--max-seconds",
        str(learning_seconds(context)),
    )


def gate(code: str, run: Run, kind: str) -> Iterator[Finding]:
    """What is wrong with the numbers of a run, whatever it learnt."""
    found = str(run.start["device"]).split(":")[0]
    if found != ("cpu" if kind == "cpu" else "npu"):
        yield Finding(
            code,
            "wrong-device",
            Severity.ERROR,
            _DEVICE,
            _DEVICE_CAUSE,
            params={"wanted": kind, "found": found},
        )
    for update in run.updates:
        health = update["health"]
        bad = number(health.get("non_finite"))
        if bad != 0:
            yield Finding(
                code,
                "non-finite",
                Severity.ERROR,
                _NON_FINITE,
                _NON_FINITE_CAUSE,
                params={"update": update["update"], "count": bad},
                evidence=_quoted(health),
            )
            return
        if update["device_to_host"] != update["vector_steps"]:
            yield Finding(
                code,
                "extra-transfers",
                Severity.ERROR,
                _TRANSFERS,
                _TRANSFERS_CAUSE,
                params={"found": update["device_to_host"], "expected": update["vector_steps"]},
            )
    yield from _ratio(code, run, kind)
    yield from _alarms(code, run)


def _ratio(code: str, run: Run, kind: str) -> Iterator[Finding]:
    worst = first_ratio(run)
    params = {"value": worst}
    # The CPU has no reduced-precision mode that could explain a small deviation.
    broken = RATIO_EXACT if kind == "cpu" else RATIO_BROKEN
    if worst > broken or math.isnan(worst):
        yield Finding(code, "ratio-broken", Severity.ERROR, _BROKEN_RATIO, _BROKEN_RATIO_CAUSE, params=params)
    elif worst > RATIO_EXACT:
        yield Finding(
            code,
            "ratio-loose",
            Severity.WARNING,
            _LOOSE_RATIO,
            _LOOSE_RATIO_CAUSE,
            params=params,
            fixes=(Fix(_LOOSE_RATIO_FIX),),
        )


def _alarms(code: str, run: Run) -> Iterator[Finding]:
    """What the run's own health rules said, but for those that the gates above judge themselves."""
    for alarm in run.alarms:
        if alarm["rule"] not in GATED:
            what, remedy = (verbatim(alarm[key]["en"], alarm[key]["zh"]) for key in ("what", "remedy"))
            severity = Severity.ERROR if alarm["severity"] == "error" else Severity.WARNING
            yield Finding(
                code,
                f"health-{alarm['rule']}",
                severity,
                what,
                _ALARM,
                params={"update": alarm["update"]},
                fixes=(Fix(remedy),),
            )


def first_ratio(run: Run) -> float:
    """Largest |log ratio| at a first minibatch from the second update on.

    The small gain of a new policy head hides faults in the first.
    """
    return max((number(u["health"].get("first_log_ratio")) for u in run.updates[1:]), default=0.0)


def fail_on(findings: Sequence[Finding], child: ChildRun, facts: Mapping[str, Any]) -> Outcome | None:
    """The FAIL for the first ERROR among `findings`, or None."""
    error = next((f for f in findings if f.severity is Severity.ERROR), None)
    if error is None:
        return None
    others = tuple(f for f in findings if f is not error)
    return failed(Phrase(error.title, error.params), error, child, findings=others, facts=facts)


def number(value: object) -> float:
    """A float; the protocol's null stands for a number that was not finite."""
    return float(value) if isinstance(value, (int, float)) else math.nan


def _quoted(health: Mapping[str, Any]) -> tuple[Evidence, ...]:
    return tuple(Evidence(name, str(health.get(name))) for name in (*LOSSES, "grad_norm"))
