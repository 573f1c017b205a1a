"""Rules that name what is wrong with a run, with cause and remedy.

Each threshold stands between what ten healthy seeds show and what the provoked fault shows; both are listed
in docs/ppo_health.md, measured by benchmarks/ppo/health.py. Success is no proof of correctness: a run whose
old log-probabilities miss a term reaches full success, and only the importance ratio gives it away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from reference_ppo.health.history import History
from reference_ppo.messages import Text

Values = Optional[dict[str, Any]]


@dataclass(frozen=True)
class Rule:
    """A rule returns the values for its sentence when it fires, else None."""

    name: str
    severity: str
    """`error` stops the run, `warning` is reported once."""
    what: Text
    remedy: Text
    fires: Callable[[History], Values]


RULES: list[Rule] = []


def rule(name: str, severity: str, what: Text, remedy: Text) -> Callable[[Callable[[History], Values]], Any]:
    """Register a rule."""

    def register(fires: Callable[[History], Values]) -> Callable[[History], Values]:
        RULES.append(Rule(name, severity, what, remedy, fires))
        return fires

    return register


@rule(
    "non-finite", "error",
    Text("{count} NaN or infinite numbers in rollout or update; the step was not taken.",
         "采样或更新中出现 {count} 个 NaN 或无穷值；该步更新未执行。"),
    Text("lower the learning rate, normalise observations and rewards, "
         "bound log_std; look for 0/0 in the reward.",
         "降低学习率，归一化观测与奖励，限制 log_std；检查奖励中是否有 0/0。"),
)  # fmt: skip
def non_finite(h: History) -> Values:
    """Any NaN or infinity."""
    count = int(h.last("non_finite"))
    return {"count": count} if count else None


@rule(
    "ratio-not-one", "error",
    Text("the importance ratio is off by {ratio:.2g} (log) before the first step of the update, not 1.",
         "更新第一步之前重要性比率的对数偏差为 {ratio:.2g}，应为 1。"),
    Text("the buffer mixes states, actions or log-probabilities of "
         "different steps, or the two log-probability "
         "formulas differ (a missing -log sigma, a clipped action).",
         "缓冲区混用了不同时间步的状态、动作或对数概率，或两处对数概率公式不一致（缺少 "
         "-log sigma、存了裁剪后的动作）。"),
)  # fmt: skip
def ratio_not_one(h: History) -> Values:
    """From the second update on: at first the small policy head hides wrong observations."""
    value = h.last("first_log_ratio")
    return {"ratio": value} if h.updates > 1 and value > 0.1 else None


@rule(
    "ratio-imprecise", "warning",
    Text("the importance ratio is off by {ratio:.2g} (log) before the "
         "first step; float32 on both sides gives 1e-5.",
         "第一步之前重要性比率的对数偏差为 {ratio:.2g}；两侧均为 float32 时约为 1e-5。"),
    Text("rollout and update compute in different precision (autocast, "
         "bfloat16, HF32): use the same in both.",
         "采样与更新的计算精度不同（autocast、bfloat16、HF32）：两处使用相同精度。"),
)  # fmt: skip
def ratio_imprecise(h: History) -> Values:
    """Between rounding and a bug lies a difference in precision."""
    value = h.last("first_log_ratio")
    return {"ratio": value} if h.updates > 1 and 1e-3 < value <= 0.1 else None


@rule(
    "kl-too-high", "warning",
    Text("the policy moves too far per update: KL {kl:.3f} over the last "
         "five, {clipped:.0%} of ratios clipped.",
         "每次更新策略变化过大：最近五次 KL 为 {kl:.3f}，{clipped:.0%} 的比率被裁剪。"),
    Text("lower the learning rate, take fewer epochs, or stop the epochs at a KL of 0.015.",
         "降低学习率，减少 epoch 数，或在 KL 达到 0.015 时提前停止。"),
)  # fmt: skip
def kl_too_high(h: History) -> Values:
    """Healthy updates stay below 0.025; a learning rate 30 times too high gives 0.05."""
    kl = h.mean("approx_kl", 5)
    return {"kl": kl, "clipped": h.mean("clip_fraction", 5)} if kl > 0.035 else None


@rule(
    "policy-stands-still", "warning",
    Text("the policy hardly moves: KL {kl:.1g} per update over the last five.",
         "策略几乎没有变化：最近五次更新的 KL 仅 {kl:.1g}。"),
    Text("raise the learning rate; check that the advantage reaches the "
         "loss and that a huge value loss does not "
         "take all of the clipped gradient.",
         "提高学习率；检查优势是否进入损失，以及过大的价值损失是否占满了被裁剪的梯度。"),
)  # fmt: skip
def policy_stands_still(h: History) -> Values:
    """Healthy updates are above 0.002."""
    kl = h.mean("approx_kl", 5)
    return {"kl": kl} if kl < 5e-4 else None


@rule(
    "advantage-zero", "warning",
    Text("all advantages are the same (standard deviation {std:.1g}): there is nothing to learn from.",
         "所有优势都相同（标准差 {std:.1g}）：没有可学习的信号。"),
    Text("check the reward and the advantage on its way to the loss.",
         "检查奖励，以及优势传到损失的路径。"),
)  # fmt: skip
def advantage_zero(h: History) -> Values:
    """Compared with the spread of the returns."""
    std = h.mean("advantage_std", 3)
    return {"std": std} if std <= 1e-6 * (1 + h.last("returns_variance") ** 0.5) else None


@rule(
    "entropy-collapse", "warning",
    Text("entropy fell by {drop:.2f} per action dimension within ten updates: exploration ends early.",
         "十次更新内每个动作维度的熵下降了 {drop:.2f}：探索过早结束。"),
    Text("raise entropy_coef (0.01), lower the learning rate or the "
         "number of epochs, check the sign of the "
         "entropy bonus.",
         "提高 entropy_coef（0.01），降低学习率或 epoch 数，检查熵奖励的符号。"),
)  # fmt: skip
def entropy_collapse(h: History) -> Values:
    """Healthy runs lose at most 0.17 per dimension in ten updates; "
    "choices: less than 2% of log n is left."""
    if h.discrete:
        left = h.last("entropy") / h.entropy_scale
        return {"drop": 1 - left} if left < 0.02 and not h.solved() else None
    drop = (h.ago("entropy", 10) - h.last("entropy")) / h.entropy_scale
    return {"drop": drop} if drop > 0.25 else None


@rule(
    "std-blow-up", "warning",
    Text("entropy grew by {rise:.2f} per action dimension since the start: actions become noise.",
         "自开始以来每个动作维度的熵增加了 {rise:.2f}：动作趋于噪声。"),
    Text("lower entropy_coef and the learning rate; check that actions outside the bounds cost something.",
         "降低 entropy_coef 与学习率；检查越界动作是否有代价。"),
)  # fmt: skip
def std_blow_up(h: History) -> Values:
    """Healthy runs rise by 0.03 at most."""
    rise = (h.last("entropy") - h.first("entropy")) / h.entropy_scale
    return {"rise": rise} if not h.discrete and rise > 0.25 else None


@rule(
    "return-crash", "warning",
    Text("the return rose to {best:.3g} and has fallen to {now:.3g}.",
         "回报升至 {best:.3g} 后跌到 {now:.3g}。"),
    Text("go back to the last good checkpoint with a lower learning "
         "rate or a smaller clip range; check the "
         "reward for a bonus that can be exploited.",
         "回到最近的良好检查点，并降低学习率或裁剪范围；检查奖励中是否有可被钻空子的项。"),
)  # fmt: skip
def return_crash(h: History) -> Values:
    """More than half of the gain is lost, and more than the episodes scatter anyway."""
    best, now = h.best_return(), h.last_return()
    if best is None or now is None:
        return None
    gain = best - h.first_return()
    return {"best": best, "now": now} if best - now > max(0.5 * gain, 1.5 * h.return_spread()) else None


@rule(
    "flat-return", "warning",
    Text("after {updates} updates the return ({now:.3g}) is no better "
         "than at the start ({first:.3g}), although "
         "the value loss fell.",
         "{updates} 次更新后回报（{now:.3g}）并不优于开始时（{first:.3g}），而价值损失已下降。"),
    Text("the critic learns, the policy does not: check the sign of the "
         "advantage and that it reaches the loss, "
         "the reward's scale and delay, and whether the action reaches the environment.",
         "价值网络在学而策略没有：检查优势的符号及其是否进入损失、"
         "奖励的尺度与延迟，以及动作是否真正传给环境。"),
)  # fmt: skip
def flat_return(h: History) -> Values:
    """The article's flat reward with falling loss."""
    now = h.last_return()
    if h.updates < 20 or now is None or not h.return_spread():
        return None
    flat = now - h.first_return() < 0.5 * h.return_spread()
    fell = h.mean("value_loss", 5) < 0.5 * h.start_mean("value_loss", 5)
    return {"updates": h.updates, "now": now, "first": h.first_return()} if flat and fell else None


@rule(
    "value-misses", "warning",
    Text("the value function explains only {explained:.0%} of the returns of the last ten rollouts.",
         "价值函数仅解释了最近十次采样回报方差的 {explained:.0%}。"),
    Text("check that the advantage stops at the end of an episode and "
         "that a time limit is bootstrapped with the "
         "value of the final observation; normalise observations; look at the reward's scale.",
         "检查优势是否在回合结束处截断、时间上限处是否用最终观测的价值自举；归一化观测；检查奖励尺度。"),
)  # fmt: skip
def value_misses(h: History) -> Values:
    """Pooled over ten rollouts, so that all phases of an episode are in it."""
    explained = h.explained_variance(10)
    return {"explained": max(explained, 0.0)} if h.updates >= 20 and explained < 0.7 else None


@rule(
    "reward-scale", "warning",
    Text("gradient norm {norm:.0f} against a limit of {limit:g}: the value loss drowns the policy.",
         "梯度范数 {norm:.0f}，而上限为 {limit:g}：价值损失淹没了策略梯度。"),
    Text("scale rewards so that returns are of the order of 1 to 100.",
         "缩放奖励，使回报量级在 1 到 100 之间。"),
)  # fmt: skip
def reward_scale(h: History) -> Values:
    """Healthy medians are below 6; rewards 1000 times as large give 7000."""
    norm = h.mean("grad_norm", 5)
    return {"norm": norm, "limit": h.max_grad_norm} if norm > 100 * h.max_grad_norm else None


@rule(
    "observation-scale", "warning",
    Text("what the policy sees has a root mean square of {rms:.1f}; about 1 is healthy.",
         "策略所见观测的均方根为 {rms:.1f}；正常约为 1。"),
    Text("normalise observations (do not use --no-normalize-obs), or scale them in the environment.",
         "归一化观测（不要使用 --no-normalize-obs），或在环境中缩放。"),
)  # fmt: skip
def observation_scale(h: History) -> Values:
    """Healthy runs stay within 0.4 to 1.6."""
    rms = h.last("observation_rms")
    return {"rms": rms} if rms > 5 and h.updates > 1 else None


@rule(
    "short-rollout", "warning",
    Text("rollouts are only {horizon} steps long per environment.", "每个环境每次采样只有 {horizon} 步。"),
    Text("keep at least 32 steps per environment: fewer environments or a larger --rollout-steps.",
         "每个环境至少 32 步：减少环境数或增大 --rollout-steps。"),
)  # fmt: skip
def short_rollout(h: History) -> Values:
    """256 environments with 8 steps each do not reliably learn the reach task."""
    return {"horizon": h.horizon} if h.horizon < 32 else None
