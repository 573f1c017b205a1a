"""One self-contained HTML page of a migration: side-by-side diffs, filter by rule, two languages."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from npudoctor.core.ends import equal_ends
from npudoctor.core.finding import Severity
from npudoctor.core.text import LANGUAGES, Text, verbatim
from npudoctor.report import template
from npudoctor.report.migration import HEATS
from npudoctor.version import __version__

if TYPE_CHECKING:
    from npudoctor.core.changes import Changes, FileChange, Item
    from npudoctor.core.report import Report

CONTEXT = 3
_MAX_LINE = 2000  # a minified line of megabytes helps nobody

_WORDS = {
    "title": Text("Migration report", "迁移报告"),
    "all": Text("All rules", "全部规则"),
    "files": Text("Changed files", "修改的文件"),
    "left": Text("Left for you", "需要人工处理"),
    "rules": Text("Edits by rule", "按规则统计的修改"),
    "syncs": Text("Host-device syncs", "主机与设备同步"),
    "found": Text("found", "发现"),
    "removed": Text("removed", "消除"),
    "kept": Text("left", "保留"),
    "before": Text("before", "修改前"),
    "after": Text("after", "修改后"),
    "why": Text("why", "原因"),
    "fix": Text("what to do", "处理办法"),
    "unchanged": Text("unchanged lines", "行未改动"),
    "none": Text("nothing", "无"),
    "written": Text("These changes were written.", "以上修改已写入。"),
    "shown": Text("Nothing was written: this is what would change.",
                  "未写入任何内容：此处仅展示将要进行的修改。"),
}


def page(report: Report, changes: Changes, lang: str) -> str:
    """The page; it opens in `lang` and can be switched.

    Raises:
        UserError: jinja2 is not installed.
    """
    return template.fill(
        "migration.html.j2",
        version=__version__,
        lang=lang,
        languages=LANGUAGES,
        words={name: _both(text, {}) for name, text in _WORDS.items()},
        verdict=_both(report.verdict, report.params),
        facts=[
            {"label": _both(f.label, {}), "value": {each: f.words(each) for each in LANGUAGES}}
            for f in report.facts
        ],
        rules=_rules(changes),
        groups=_groups(changes),
        files=[_file(change, changes) for change in changes.files],
        syncs=_syncs(report),
        written=changes.written,
    )


def _both(text: Text, params: Any) -> dict[str, str]:
    return {lang: text.render(lang, params) for lang in LANGUAGES}


def _rules(changes: Changes) -> list[dict[str, Any]]:
    """Every code that the page tells of: edits made and items left."""
    counts: Counter[str] = Counter(item.finding.code for item in changes.left)
    for file in changes.files:
        counts.update(file.edits)
    slugs = {item.finding.code: item.finding.slug for item in changes.items}
    return [{"code": code, "slug": slugs.get(code, ""), "n": n} for code, n in sorted(counts.items())]


def _syncs(report: Report) -> dict[str, Any]:
    counts = report.extra.get("syncs")
    known: dict[str, Any] = counts if isinstance(counts, dict) else {"found": 0, "removed": {}, "left": {}}
    left = [(_both(HEATS.get(heat, verbatim(heat)), {}), n) for heat, n in known["left"].items()]
    return {"found": known["found"], "removed": sum(known["removed"].values()), "left": left}


def _groups(changes: Changes) -> list[dict[str, Any]]:
    """Items left, by code, the gravest first."""
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    groups: dict[str, list[Item]] = {}
    for item in changes.left:
        groups.setdefault(item.finding.code, []).append(item)
    ranked = sorted(groups.items(), key=lambda g: (min(order.index(i.finding.severity) for i in g[1]), g[0]))
    return [
        {
            "code": code,
            "slug": items[0].finding.slug,
            "severity": min(items, key=lambda i: order.index(i.finding.severity)).finding.severity.value,
            "items": [_left(item) for item in items],
        }
        for code, items in ranked
    ]


def _left(item: Item) -> dict[str, Any]:
    finding = item.finding
    fix = finding.fixes[0].note if finding.fixes else None
    return {
        "place": str(finding.place) if finding.place else "",
        "title": _both(finding.title, finding.params),
        "why": _both(finding.cause, finding.params),
        "fix": _both(fix, finding.params) if fix else None,
        "sources": finding.sources,
    }


def _file(change: FileChange, changes: Changes) -> dict[str, Any]:
    """One changed file as rows of a two-column table."""
    codes: dict[int, set[str]] = {}
    for item in changes.applied:
        place = item.finding.place
        if place is not None and place.path == change.path and place.line is not None:
            codes.setdefault(place.line, set()).add(item.finding.code)
    rows = list(_rows(change.old.split("\n"), change.new.split("\n"), codes))
    edits = sum(change.edits.values())
    return {"path": change.path, "codes": sorted(change.edits), "edits": edits, "rows": rows}


def _rows(old: list[str], new: list[str], codes: dict[int, set[str]]) -> Iterator[dict[str, Any]]:
    head = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    start = max(0, head - CONTEXT)
    matcher = difflib.SequenceMatcher(None, old[start:], new[start:], autojunk=len(old) > 5000)
    if start:
        yield {"kind": "gap", "n": start}
    previous = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if group[0][1] > previous:
            yield {"kind": "gap", "n": group[0][1] - previous}
        for tag, i, j, k, m in group:
            for step in range(max(j - i, m - k)):
                a = start + i + step if i + step < j else None
                b = start + k + step if k + step < m else None
                yield _row(tag, a, b, old, new, codes)
        previous = group[-1][2]


def _row(
    tag: str, a: int | None, b: int | None, old: list[str], new: list[str], codes: dict[int, set[str]]
) -> dict[str, Any]:
    left = old[a][:_MAX_LINE] if a is not None else ""
    right = new[b][:_MAX_LINE] if b is not None else ""
    return {
        "kind": "same" if tag == "equal" else "change",
        "old_line": "" if a is None else a + 1,
        "new_line": "" if b is None else b + 1,
        "old": _marked(left, right) if tag == "replace" else [(tag != "equal", left)],
        "new": _marked(right, left) if tag == "replace" else [(tag != "equal", right)],
        "codes": sorted(codes.get(a + 1, ())) if a is not None and tag != "equal" else [],
    }


def _marked(text: str, other: str) -> list[tuple[bool, str]]:
    """`text` in pieces; True marks what differs from `other`."""
    head, tail = equal_ends(text, other)
    pieces = [(False, text[:head]), (True, text[head : len(text) - tail]), (False, text[len(text) - tail :])]
    return [piece for piece in pieces if piece[1]]
