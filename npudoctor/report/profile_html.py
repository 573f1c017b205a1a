"""One self-contained page for a profile: verdict, tables and a timeline to zoom and drag."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any

from npudoctor.core.phases import said
from npudoctor.core.report import Report
from npudoctor.core.text import Text
from npudoctor.report.profile_page import PAGE

_TITLE = Text("npudoctor profile", "npudoctor 性能剖析")
_HELP = Text("wheel: zoom, drag: move, double click: all", "滚轮缩放，拖动平移，双击还原")
_HEAD = Text("What bounds it", "瓶颈所在")
_TIMELINE = Text("Timeline", "时间线")
_PHASES = Text("Time by phase", "各阶段时间")
_GAPS = Text("Gaps on the device", "设备空隙")
_OPS = Text("Operators", "算子")
_SYNCS = Text("Where the host waits", "主机等待的位置")


def page(report: Report, lanes: Sequence[dict[str, Any]], lang: str) -> str:
    """The page as text. Everything from the trace is escaped or sits in JSON."""
    analysis: Any = report.extra["analysis"]
    values = {
        "lang": lang,
        "title": _TITLE.render(lang),
        "verdict": html.escape(report.verdict.render(lang, report.params)),
        "source": html.escape(str(analysis["source"])),
        "head": _HEAD.render(lang),
        "timeline": _TIMELINE.render(lang),
        "help": _HELP.render(lang),
        "findings": "".join(_finding(f, lang) for f in report.findings),
        # "</" inside a script element would end it
        "lanes": json.dumps(list(lanes), ensure_ascii=False).replace("</", "<\\/"),
        **{name: _table(title.render(lang), rows) for name, title, rows in _tables(analysis, lang)},
    }
    return Template(PAGE).substitute(values)


def _tables(analysis: Any, lang: str) -> Iterator[tuple[str, Text, list[tuple[str, ...]]]]:
    """(place on the page, title, rows)."""
    yield "phases", _PHASES, [(said(name).render(lang), _ms(us)) for name, us in analysis["phases"].items()]
    yield "gaps", _GAPS, [
        (
            g["where"]["line"] or "?",
            g["where"]["call"],
            said(g["cause"]).render(lang),
            str(g["count"]),
            _ms(g["total_us"]),
        )
        for g in analysis["gaps"]
    ]
    yield "ops", _OPS, [(o["name"], str(o["count"]), _ms(o["total_us"])) for o in analysis["by_time"]]
    yield "syncs", _SYNCS, [
        (s["where"]["line"] or "?", s["where"]["call"], str(s["count"])) for s in analysis["syncs"]
    ]


def _ms(us: float) -> str:
    return f"{us / 1000:.2f} ms"


def _finding(finding: Any, lang: str) -> str:
    parts = [
        f"<h3>{html.escape(finding.code)} {html.escape(finding.title.render(lang, finding.params))}</h3>",
        f"<p>{html.escape(finding.cause.render(lang, finding.params))}</p>",
    ]
    if finding.evidence:
        items = "".join(
            f"<li><code>{html.escape(e.place)}</code> {html.escape(e.value)}</li>" for e in finding.evidence
        )
        parts.append(f"<ul>{items}</ul>")
    fixes = "".join(f"<li>{html.escape(f.note.render(lang, finding.params))}</li>" for f in finding.fixes)
    return "".join(parts) + (f"<ol>{fixes}</ol>" if fixes else "")


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<h2>{html.escape(title)}</h2><table>{body}</table>"
