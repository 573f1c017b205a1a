"""The report as one HTML page: totals, the forecast, each source file with its lines coloured by syncs."""

from __future__ import annotations

import linecache
import math
from html import escape
from typing import Any

from npudoctor.core.text import Text
from npudoctor.simulate import text

_TITLE = Text("Simulated NPU: host-device syncs by line", "模拟 NPU：按行统计的主机与设备同步")
_NOTE = Text(
    "Simulated. Counts are exact for this run; times are estimates from public figures or a given file.",
    "模拟结果。计数对本次运行是准确的；时间是根据公开数据或给定文件的估算。",
)
_COLUMNS = Text("syncs|kernels|uploads|line|source", "同步|算子|上行|行|源码")
_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem}
body{color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%;font:12px/1.5 ui-monospace,monospace}
td,th{padding:0 .6rem;text-align:right;white-space:pre}td:last-child,th:last-child{text-align:left;width:100%}
td:nth-child(4){color:#6a737d}.note{color:#57606a}h2{font-size:1rem;margin-top:2rem}
details{margin:1rem 0}summary{cursor:pointer;font-weight:600}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}td:nth-child(4),.note{color:#8b949e}}
"""
AROUND = 3


def page(summary: dict[str, Any], forecast: list[str], lang: str) -> str:
    """The page as text.

    Args:
        summary: what `summary.summarise` returned.
        forecast: sentences of the cost model.
    """
    files: dict[str, dict[int, dict[str, Any]]] = {}
    for line in summary["lines"]:
        if line["line"]:
            files.setdefault(line["file"], {})[line["line"]] = line
    worst = max((line["syncs"] for line in summary["lines"]), default=0)
    ranked = sorted(files.items(), key=lambda item: -sum(line["syncs"] for line in item[1].values()))
    body = "".join(
        _file(path, lines, worst, lang, first=place == 0) for place, (path, lines) in enumerate(ranked)
    )
    sentences = [*text.totals(summary, lang), *forecast]
    facts = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    title = escape(_TITLE.render(lang))
    return (
        f'<!doctype html><html lang="{"zh-CN" if lang == "zh" else "en"}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>"
        f'<body><h1>{title}</h1><p class="note">{escape(_NOTE.render(lang))}</p><ul>{facts}</ul>{body}'
        "</body></html>\n"
    )


def _file(path: str, lines: dict[int, dict[str, Any]], worst: int, lang: str, *, first: bool) -> str:
    source = linecache.getlines(path)
    heads = "".join(f"<th>{escape(word)}</th>" for word in _COLUMNS.render(lang).split("|"))
    around = {n for line in lines for n in range(line - AROUND, line + AROUND + 1)}
    shown = sorted(n for n in around if 0 < n <= len(source))
    if not shown:
        shown = sorted(lines)
    rows, before = [], None
    for number in shown:
        if before is not None and number != before + 1:
            rows.append('<tr><td colspan="5" style="text-align:left">&#8942;</td></tr>')
        words = source[number - 1].rstrip() if number <= len(source) else lines[number]["text"]
        rows.append(_row(number, words, lines.get(number), worst))
        before = number
    total = sum(line["syncs"] for line in lines.values())
    return (
        f"<details{' open' if first else ''}><summary>{escape(path)} ({total})</summary>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _row(number: int, words: str, line: dict[str, Any] | None, worst: int) -> str:
    if line is None:
        return f"<tr><td></td><td></td><td></td><td>{number}</td><td>{escape(words)}</td></tr>"
    heat = math.log1p(line["syncs"]) / math.log1p(worst) if worst else 0.0
    kinds = ", ".join(f"{kind} {times}" for kind, times in line["kinds"].items())
    return (
        f'<tr title="{escape(kinds)}" style="background:rgba(220,60,30,{heat * 0.55:.2f})">'
        f"<td>{line['syncs'] or ''}</td><td>{line['kernels'] or ''}</td><td>{line['h2d'] or ''}</td>"
        f"<td>{number}</td><td>{escape(words)}</td></tr>"
    )
