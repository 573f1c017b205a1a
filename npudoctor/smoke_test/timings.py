"""Milliseconds per environment step, by what they are spent on: table, bars, and a sentence."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from npudoctor.core.blocks import Bar, Bars, Block, Phrase, Table
from npudoctor.core.text import Text
from npudoctor.smoke_test.stage import Device
from npudoctor.smoke_test.training import Run
from npudoctor.tables import DATA

PARTS = ("env", "inference", "transfer", "update", "other")
NAMES = {
    "env": Text("environment", "环境"),
    "inference": Text("inference", "推理"),
    "transfer": Text("transfer+sync", "传输+同步"),
    "update": Text("update", "更新"),
    "other": Text("other", "其他"),
}
_TITLE = Text("Milliseconds per environment step", "每个环境步的毫秒数")
_SETTING = Text("setting", "设置")
_TOTAL = Text("total", "合计")
_RATE = Text("steps/s", "步/秒")
_ONE = Text("one environment, {device}", "单环境，{device}")
_MANY = Text("{envs} environments, {device}", "{envs} 个环境，{device}")
_ARTICLE = Text("article: {setting}", "文章：{setting}")
_SETTINGS = {
    "one environment, CPU": Text("one environment, CPU", "单环境，CPU"),
    "one environment, NPU": Text("one environment, NPU", "单环境，NPU"),
    "batched environments, NPU": Text("batched environments, NPU", "批量环境，NPU"),
}
_NOTE = Text(
    "{verdict}{simulated} The article's rows are its own figures, on its hardware; they were not measured "
    "here.",
    "{verdict}{simulated} “文章”各行为文章在其硬件上的数据，并非在此测得。",
)
_SIMULATED = Text(
    " These are the times of this host while it simulates, not those of an NPU.",
    "以上是本机在模拟时的耗时，并非 NPU 的耗时。",
)
_WHERE = {
    "env": Text(
        "Most of the batched time, {share:.0%}, goes to the environments: step them as one array "
        "operation, or in processes.",
        "批量运行时 {share:.0%} 的时间用于环境：请用数组一次推进所有环境，或使用多进程。",
    ),
    "inference": Text(
        "Most of the batched time, {share:.0%}, goes to inference: many small launches. More environments "
        "per call "
        "spread their cost.",
        "批量运行时 {share:.0%} 的时间用于推理：大量细小的算子下发。每次调用处理更多环境可摊薄开销。",
    ),
    "transfer": Text(
        "Most of the batched time, {share:.0%}, goes to transfers and waiting: pack what moves, and read "
        "the device once "
        "per step.",
        "批量运行时 {share:.0%} 的时间用于传输与等待：请打包传输，每步只读取一次设备。",
    ),
    "update": Text(
        "Most of the batched time, {share:.0%}, goes to the update: larger minibatches or fewer, larger "
        "kernels shorten it.",
        "批量运行时 {share:.0%} 的时间用于更新：更大的小批量或更少而更大的算子可缩短它。",
    ),
    "other": Text(
        "Most of the batched time, {share:.0%}, goes to the loop around the named parts.",
        "批量运行时 {share:.0%} 的时间花在上述各部分之外的循环中。",
    ),
}


def ms_per_step(run: Run) -> dict[str, float]:
    """Milliseconds per environment step for each part and in total, without the first update."""
    counted = run.updates[1:] or run.updates
    before = run.updates[0]["steps"] if len(run.updates) > 1 else 0
    steps = counted[-1]["steps"] - before
    return {part: 1e3 * sum(float(u["time"][part]) for u in counted) / steps for part in (*PARTS, "total")}


def verdict(single: Mapping[str, float], batched: Mapping[str, float]) -> Phrase:
    """The sentence that says where the time goes."""
    part = max(PARTS, key=lambda name: batched[name])
    return Phrase(_WHERE[part], {"share": batched[part] / batched["total"]})


def blocks(
    single: Mapping[str, float], batched: Mapping[str, float], envs: int, device: Device | None
) -> tuple[Block, ...]:
    """The table with the article's rows under the measured ones, and the bars."""
    label = device.label if device else "-"
    measured = (
        (Phrase(_ONE, {"device": label}), single),
        (Phrase(_MANY, {"envs": envs, "device": label}), batched),
    )
    rows: list[tuple[Any, ...]] = [
        (
            name,
            *(f"{times[part]:.3g}" for part in PARTS),
            f"{times['total']:.3g}",
            f"{1e3 / times['total']:.0f}",
        )
        for name, times in measured
    ]
    for row in article():
        about = "~" if row["approximate"] else ""
        name = Phrase(_ARTICLE, {"setting": _SETTINGS[row["setting"]]})
        rows.append(
            (name, *("",) * len(PARTS), f"{about}{row['ms_per_step']:g}", f"{1e3 / row['ms_per_step']:.0f}")
        )
    simulated = device is not None and device.kind == "sim"
    columns = (_SETTING, *(NAMES[part] for part in PARTS), _TOTAL, _RATE)
    note = Phrase(_NOTE, {"verdict": verdict(single, batched), "simulated": _SIMULATED if simulated else ""})
    table = Table(_TITLE, columns, tuple(rows), right=tuple(range(1, len(columns))), note=note)
    bars = Bars(
        _TITLE,
        "ms",
        tuple(Bar(name, tuple((NAMES[part], times[part]) for part in PARTS)) for name, times in measured),
    )
    return (table, bars)


@lru_cache(maxsize=1)
def article() -> tuple[Mapping[str, Any], ...]:
    """The article's rows."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tuple(tomllib.loads((DATA / "article_timings.toml").read_text(encoding="utf-8"))["row"])
