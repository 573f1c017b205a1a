"""The summary as a table for the terminal."""

from __future__ import annotations

import os
from typing import Any

from rich.text import Text as Line

from npudoctor.core.phases import said
from npudoctor.core.text import Text

_TITLE = Text("host-device syncs by line (simulated NPU)", "按行统计的主机与设备同步（模拟 NPU）")
_HEAD = Text("  syncs kernels uploads  line", "   同步  算子数   上行  位置")
_MORE = Text("{n} more lines (--top)", "另有 {n} 行（--top）")
_TOTAL = Text(
    "{syncs} syncs, {kernels} kernels, {h2d} uploads ({h2d_kib} KiB), {d2h} downloads ({d2h_kib} KiB)",
    "{syncs} 次同步，{kernels} 次算子下发，{h2d} 次上行（{h2d_kib} KiB），{d2h} 次下行（{d2h_kib} KiB）",
)
_ESTIMATE = Text(
    "estimate (simulated, {origin}): {ms} ms, {bound}: launching {launch}%, waiting {wait}%, "
    "environment {env}%; device busy {busy}%",
    "估算（模拟，{origin}）：{ms} ms，{bound}：下发 {launch}%，等待 {wait}%，环境 {env}%；设备忙碌 {busy}%",
)
_PUBLIC = Text("public figures", "公开数据")
_BOUND = {
    "launch": Text("launch-bound", "受限于算子下发"), "sync": Text("sync-bound", "受限于同步"),
    "compute": Text("compute-bound", "受限于设备计算"), "env": Text("environment-bound", "受限于环境"),
}
_WITHOUT = Text("  without the syncs of {place}: {gain}% less", "  去掉 {place} 的同步：减少 {gain}%")
_BATCHED = Text(
    "  rollout per environment step with as many more environments in one batch: {times}",
    "  将更多环境合并为一个批次时，每个环境步的采样时间：{times}",
)
_PHASE = Text(
    "  {phase}: {syncs} syncs, {kernels} kernels, {h2d} uploads, {d2h} downloads",
    "  {phase}：{syncs} 次同步，{kernels} 次算子下发，{h2d} 次上行，{d2h} 次下行",
)
_STEPS = Text(
    "{steps} environment steps: {syncs} syncs and {kernels} kernels per step",
    "{steps} 个环境步：每步 {syncs} 次同步、{kernels} 次算子下发",
)


PATHS_SHOWN = 3


def render(summary: dict[str, Any], console: Any, lang: str, top: int) -> None:
    """Print the lines with most syncs, then the totals."""
    console.print(Line(_TITLE.render(lang), style="bold"))
    console.print(Line(_HEAD.render(lang), style="dim"))
    shown = [line for line in summary["lines"] if line["syncs"] or line["h2d"]][:top]
    for line in shown:
        _row(line, console)
    hidden = sum(1 for line in summary["lines"] if line["syncs"] or line["h2d"]) - len(shown)
    if hidden > 0:
        console.print(Line(_MORE.render(lang, {"n": hidden}), style="dim"))
    for sentence in totals(summary, lang):
        console.print(Line(sentence))
    console.print()


def forecast(numbers: dict[str, Any], lang: str) -> list[str]:
    """The cost model's sentences: estimated time and bound, the best removals, larger batches."""
    estimate = numbers["estimate"]
    if not estimate["total_us"]:
        return []
    found = [_ESTIMATE.render(lang, {
        "ms": round(estimate["total_us"] / 1000, 2), "bound": _BOUND[estimate["bound"]].render(lang),
        "launch": _share(estimate, "launch_us"), "wait": _share(estimate, "wait_us", "copy_us"),
        "env": _share(estimate, "env_us"), "busy": _share(estimate, "busy_us"),
        "origin": numbers["costs"]["origin"] or _PUBLIC,
    })]
    for option in numbers["what_if"][:3]:
        place = f"{os.path.basename(option['path'])}:{option['line']}"
        found.append(_WITHOUT.render(lang, {"place": place, "gain": option["gain_percent"]}))
    if numbers["batched"]:
        times = ", ".join(f"{n}x {us:.0f} us" for n, us in numbers["batched"].items())
        found.append(_BATCHED.render(lang, {"times": times}))
    return found


def _share(estimate: dict[str, Any], *names: str) -> int:
    return round(100 * sum(estimate[name] for name in names) / estimate["total_us"])


def _row(line: dict[str, Any], console: Any) -> None:
    """Two lines: the numbers with the place and the kinds, then the code."""
    kinds = ", ".join(f"{kind} {times}" for kind, times in line["kinds"].items())
    row = Line(f"{line['syncs']:>7} {line['kernels']:>7} {line['h2d']:>7}  ", style="bold")
    row.append(f"{os.path.basename(line['path'])}:{line['line']}", style="not bold cyan")
    row.append(f"  {kinds}", style="not bold dim")
    row.truncate(console.width, overflow="ellipsis")
    console.print(row)
    code = Line(" " * 25 + line["text"], style="dim")
    code.truncate(console.width, overflow="ellipsis")
    console.print(code)
    for path in line["paths"][:PATHS_SHOWN]:
        if len(path["calls"]) > 1:
            via = Line(f"{path['times']:>29} < " + " < ".join(reversed(path["calls"][1:])), style="dim")
            via.truncate(console.width, overflow="ellipsis")
            console.print(via)


def totals(summary: dict[str, Any], lang: str) -> list[str]:
    """The sums, one sentence each."""
    numbers = summary["totals"]
    sentences = [_TOTAL.render(lang, {
        "syncs": numbers["syncs"], "kernels": numbers["kernels"],
        "h2d": numbers["h2d"]["times"], "h2d_kib": numbers["h2d"]["bytes"] // 1024,
        "d2h": numbers["d2h"]["times"], "d2h_kib": numbers["d2h"]["bytes"] // 1024,
    })]
    if numbers["env_steps"]:
        sentences.append(_STEPS.render(lang, {
            "steps": numbers["env_steps"], "syncs": numbers["syncs_per_env_step"],
            "kernels": numbers["kernels_per_env_step"],
        }))
    for phase, counts in summary["phases"].items():
        sentences.append(_PHASE.render(lang, {
            "phase": said(phase), **{key: counts.get(key, 0) for key in ("syncs", "kernels", "h2d", "d2h")}
        }))
    return sentences
