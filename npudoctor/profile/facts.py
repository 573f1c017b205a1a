"""The summary lines above a verdict: what was measured, and what the profiler summed up itself."""

from __future__ import annotations

from collections.abc import Sequence

from npudoctor.core.blocks import Phrase
from npudoctor.core.report import Fact
from npudoctor.core.text import Text
from npudoctor.profile.analyse import Analysis
from npudoctor.profile.folder import Communication, Statistics

_WINDOW = Text("window", "窗口")
_BUSY = Text("device busy", "设备忙碌")
_IDLE = Text("device idle", "设备空闲")
_SYNCS = Text("syncs", "同步")
_LAUNCHES = Text("launches", "下发")
_OWN = Text("its own step trace", "自带的步骤统计")
_OWN_OPS = Text("its own top operators", "自带的算子统计")
_OWN_APIS = Text("its own top host calls", "自带的主机接口统计")
_OWN_TALK = Text("its own communication", "自带的通信统计")
_CUT = Text("file", "文件")
_CUT_SHORT = Text(
    "ends in the middle: the profiler was stopped before it was done; what is there was read",
    "在中途结束：性能分析尚未完成即被停止；已读取现有部分",
)
_STEPS = Text(
    "{count}: computing {computing}, communication {communication}, free {free}",
    "{count}：计算 {computing}，通信 {communication}，空闲 {free}",
)
_TALK = Text("{count} x, {time}, {wait} of it waiting", "{count} 次，{time}，其中等待占 {wait}")


def measured(analysis: Analysis) -> tuple[Fact, ...]:
    """What the trace's intervals add up to."""
    facts = [Fact("window", _WINDOW, milliseconds(analysis.window_us), analysis.source)]
    if analysis.has_device:
        share = analysis.share
        facts.append(Fact("busy", _BUSY, f"{milliseconds(analysis.busy_us)} ({share(analysis.busy_us):.0%})"))
        facts.append(Fact("idle", _IDLE, f"{milliseconds(analysis.idle_us)} ({share(analysis.idle_us):.0%})"))
    facts.append(Fact("launches", _LAUNCHES, f"{analysis.launches} ({analysis.launch_rate:.0f}/s)"))
    facts.append(Fact("syncs", _SYNCS, str(analysis.sync_count)))
    if analysis.cut:
        facts.append(Fact("cut", _CUT, _CUT_SHORT, analysis.source))
    return tuple(facts)


def summed_up(summed: Statistics) -> tuple[Fact, ...]:
    """The tables of the profiler's folder, shortened."""
    facts = []
    if summed.steps:
        sums = (milliseconds(sum(column)) for column in zip(*summed.steps))
        params = dict(zip(("computing", "communication", "free"), sums), count=len(summed.steps))
        facts.append(Fact("step_trace", _OWN, Phrase(_STEPS, params), "step_trace_time.csv"))
    if summed.operators:
        top = [(kind, count, total) for kind, _, count, total in summed.operators]
        facts.append(Fact("op_statistic", _OWN_OPS, _top(top), "op_statistic.csv"))
    if summed.apis:
        top = [(name, count, total) for _, name, count, total in summed.apis]
        facts.append(Fact("api_statistic", _OWN_APIS, _top(top), "api_statistic.csv"))
    if summed.communication is not None:
        facts.append(Fact("communication", _OWN_TALK, _talk(summed.communication), "communication.json"))
    return tuple(facts)


def milliseconds(us: float) -> str:
    """Microseconds as a short text."""
    return f"{us / 1000:.1f} ms"


def _top(entries: Sequence[tuple[str, int, float]]) -> str:
    return ", ".join(f"{name} {milliseconds(total)} ({count} x)" for name, count, total in entries[:3])


def _talk(talk: Communication) -> Phrase:
    wait = talk.wait / talk.elapsed if talk.elapsed else 0.0
    return Phrase(_TALK, {"count": talk.calls, "time": milliseconds(talk.elapsed), "wait": f"{wait:.0%}"})
