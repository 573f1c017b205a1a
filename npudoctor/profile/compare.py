"""Two traces side by side: what changed, per loop-independent second of work."""

from __future__ import annotations

from npudoctor.core.report import Fact, Report
from npudoctor.core.text import Text
from npudoctor.profile.analyse import Analysis
from npudoctor.profile.as_data import as_data
from npudoctor.profile.facts import milliseconds
from npudoctor.profile.verdict import all_bounds, name_of, split_of

_VERDICT = Text(
    "{before} -> {after}; window {a} -> {b} ({ratio}x)", "{before} -> {after}；窗口 {a} -> {b}（{ratio} 倍）"
)
_LABELS = {
    "window_us": Text("window", "窗口"),
    "busy_us": Text("device busy", "设备忙碌"),
    "idle_us": Text("device idle", "设备空闲"),
    "launches": Text("launches", "下发"),
    "sync_count": Text("syncs", "同步"),
    "copies": Text("copies", "拷贝"),
    "median_op_us": Text("median operator", "算子中位数"),
}
_SHARE = {
    "compute": Text("share of compute", "计算占比"),
    "env": Text("share of environment", "环境占比"),
    "transfer": Text("share of transfer", "传输占比"),
    "sync": Text("share of syncs", "同步占比"),
    "launch": Text("share of launches", "下发占比"),
}


def compare(before: Analysis, after: Analysis) -> Report:
    """A report of both: each number before -> after."""
    facts = []
    for name, label in _LABELS.items():
        a, b = float(getattr(before, name)), float(getattr(after, name))
        facts.append(Fact(name, label, f"{_show(name, a)} -> {_show(name, b)}{_change(a, b)}"))
    one, two = split_of(before), split_of(after)
    for name, label in _SHARE.items():
        facts.append(Fact(f"share_{name}", label, f"{one.share(name):.0%} -> {two.share(name):.0%}"))
    bounds = [max(all_bounds(), key=lambda b, s=split: s.share(b.part)) for split in (one, two)]  # type: ignore[misc]
    ratio = after.window_us / before.window_us if before.window_us else 0.0
    return Report(
        command="profile",
        verdict=_VERDICT,
        params={
            "before": name_of(bounds[0]),
            "after": name_of(bounds[1]),
            "a": milliseconds(before.window_us),
            "b": milliseconds(after.window_us),
            "ratio": f"{ratio:.2f}",
        },
        facts=tuple(facts),
        extra={"before": as_data(before), "after": as_data(after), "verdicts": [b.slug for b in bounds]},
    )


def _show(name: str, value: float) -> str:
    if name == "median_op_us":
        return f"{value:.1f} us"
    return milliseconds(value) if name.endswith("_us") else f"{value:.0f}"


def _change(a: float, b: float) -> str:
    return f" ({b / a:.2f}x)" if a else ""
