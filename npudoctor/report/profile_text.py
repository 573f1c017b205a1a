"""Tables of `npudoctor profile` on the terminal, from the plain data of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from npudoctor.core.phases import said
from npudoctor.core.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from npudoctor.session import Session

# title, heads of the columns, rows
_Table = tuple[Text, tuple[str, ...], Sequence[tuple[str, ...]]]

_PHASES = Text("time by phase of the loop", "按循环阶段划分的时间")
_GAPS = Text("longest gaps on the device, by the line behind them", "设备上最长的空隙及其对应的代码行")
_HISTOGRAM = Text("gaps by length", "空隙长度分布")
_TIME = Text("operators by time", "按耗时排列的算子")
_COUNT = Text("operators by count", "按次数排列的算子")
_SYNCS = Text("where the host waits", "主机等待的位置")
_FUNCTION = Text("(function)", "（所在函数）")
_HEADS = {
    "phase": Text("phase", "阶段"),
    "time": Text("time", "时间"),
    "share": Text("share", "占比"),
    "busy": Text("device busy", "设备忙碌"),
    "where": Text("where", "位置"),
    "call": Text("call", "调用"),
    "cause": Text("cause", "原因"),
    "count": Text("count", "次数"),
    "longest": Text("longest", "最长"),
    "name": Text("name", "名称"),
    "mean": Text("mean", "平均"),
    "from": Text("from", "起于"),
}


def render(analysis: Mapping[str, Any], console: Console, session: Session) -> None:
    """Print phases, gaps, operators and syncs of one analysis."""
    for title, heads, rows in _tables(analysis, session):
        _table(console, session, title, heads, rows)


def _tables(analysis: Mapping[str, Any], session: Session) -> Iterator[_Table]:
    window = analysis["window_us"] or 1.0
    phases = [
        (session.tr(said(name)), _ms(us), f"{us / window:.0%}", _ms(analysis["phase_busy"][name]))
        for name, us in analysis["phases"].items()
    ]
    yield _PHASES, ("phase", "time", "share", "busy"), phases
    if analysis["gaps"]:
        yield from _gap_tables(analysis, session)
    for title, key in ((_TIME, "by_time"), (_COUNT, "by_count")):
        operators = [
            (o["name"], str(o["count"]), _ms(o["total_us"]), f"{o['mean_us']:.1f} us")
            for o in analysis[key][:5]
        ]
        yield title, ("name", "count", "time", "mean"), operators
    if analysis["syncs"]:
        syncs = [
            (_line(s["where"], session), s["where"]["call"], str(s["count"]), _ms(s["total_us"]))
            for s in analysis["syncs"]
        ]
        yield _SYNCS, ("where", "call", "count", "time"), syncs


def _gap_tables(analysis: Mapping[str, Any], session: Session) -> Iterator[_Table]:
    gaps = [
        (
            _line(g["where"], session),
            g["where"]["call"],
            session.tr(said(g["cause"])),
            str(g["count"]),
            _ms(g["total_us"]),
            f"{g['longest_us']:.0f} us",
        )
        for g in analysis["gaps"]
    ]
    yield _GAPS, ("where", "call", "cause", "count", "time", "longest"), gaps
    lengths = [
        (f"{b['from_us']:.0f} us", str(b["count"]), _ms(b["total_us"]))
        for b in analysis["gap_histogram"]
        if b["count"]
    ]
    yield _HISTOGRAM, ("from", "count", "time"), lengths


def _table(
    console: Console, session: Session, title: Text, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    table = Table(title=session.tr(title), title_justify="left", box=None, pad_edge=False)
    for position, head in enumerate(heads):
        table.add_column(
            session.tr(_HEADS[head]), justify="left" if position == 0 else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def _line(where: Mapping[str, Any], session: Session) -> str:
    line = where["line"] or "?"
    return line if where["exact"] or not where["line"] else f"{line} {session.tr(_FUNCTION)}"


def _ms(us: float) -> str:
    return f"{us / 1000:.2f} ms"
