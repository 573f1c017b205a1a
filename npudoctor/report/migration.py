"""The forms of a migration's result: summary for a person, JSON, SARIF, GitHub lines, HTML page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from npudoctor.core.finding import Severity
from npudoctor.core.text import Text
from npudoctor.report import emit, emit_drawn, emit_text

if TYPE_CHECKING:
    from rich.console import Console

    from npudoctor.core.changes import Changes, Item
    from npudoctor.core.report import Report
    from npudoctor.session import Session

_SHOWN_PLACES = 5
_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)

_EDITS = Text("edits by rule", "按规则统计的修改")
_IN_FILES = Text("{n} in {files} files", "{n} 处，{files} 个文件")
_SYNCS = Text(
    "host-device syncs: {found} found, {removed} removed, {left} left",
    "主机与设备同步：发现 {found} 处，消除 {removed} 处，保留 {left} 处",
)
_LEFT_HOT = Text("left by hotness: {heats}", "保留的同步按热度：{heats}")
HEATS = {
    "step": Text("environment-step loop", "环境步循环"),
    "minibatch": Text("minibatch loop", "小批量循环"),
    "epoch": Text("once per epoch", "每轮一次"),
    "loop": Text("other loop", "其他循环"),
    "once": Text("outside loops", "循环之外"),
}
_FIX = Text("what to do", "处理办法")
_CAUSE = Text("why", "原因")
_MORE = Text("… and {n} more (-v shows all)", "…… 另有 {n} 处（-v 显示全部）")
_ALSO = Text(
    "and the same at {n} more places in {files} file(s) (-v shows each)",
    "另有 {n} 处相同，涉及 {files} 个文件（-v 逐一显示）",
)
_NOTES = Text("{n} notes in {codes} (-v shows them)", "{n} 条提示，涉及 {codes}（-v 显示）")
_NEXT = Text("next", "下一步")


def emit_migration(session: Session, report: Report, changes: Changes) -> None:
    """Write the result in the session's format."""
    if session.format == "json":
        emit(session, report)
    elif session.format == "sarif":
        from npudoctor.report import sarif

        emit_text(session, sarif.dumps(report, changes, session.lang))
    elif session.format == "github":
        from npudoctor.report import github

        emit_text(session, github.lines(changes, session.lang))
    elif session.format == "html":
        from npudoctor.report import html

        emit_text(session, html.page(report, changes, session.lang))
    else:
        emit_drawn(session, lambda console: render(report, changes, console, session))


def render(report: Report, changes: Changes, console: Console, session: Session) -> None:
    """Print the summary: what was looked at, edits by rule, syncs, what is left, verdict."""
    from npudoctor.report.line import Line, padded

    for fact in report.facts:
        line = Line(padded(session.tr(fact.label), 9), style="dim")
        console.print(line.append(fact.words(session.lang), style="not dim"))
    console.print()
    _beside_items(report, changes, console, session)
    _edits(changes, console, session)
    _syncs(report.extra.get("syncs"), console, session)
    lead = report.extra.get("lead")
    _left(changes, set(lead) if isinstance(lead, list) else set(), console, session)
    worst = next((s for s in _ORDER[:2] if any(i.finding.severity is s for i in changes.left)), None)
    style = _STYLE[worst] if worst else "bold green"
    console.print(Line(session.tr(report.verdict, report.params), style=style))
    if report.next_step is not None:
        console.print(Line(f"{session.tr(_NEXT)}: {session.tr(report.next_step, report.params)}"))


def _beside_items(report: Report, changes: Changes, console: Console, session: Session) -> None:
    """Findings on the whole migration and not on a place in it: a verification that did not pass."""
    from npudoctor.report.terminal import render_finding

    items = {id(item.finding) for item in changes.items}
    for finding in report.findings:
        if id(finding) not in items:
            render_finding(finding, console, session)


def _edits(changes: Changes, console: Console, session: Session) -> None:
    from npudoctor.report.line import Line

    counts: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for file in changes.files:
        counts.update(file.edits)
        files.update(file.edits.keys())
    if not counts:
        return
    slugs = {item.finding.code: item.finding.slug for item in changes.applied}
    console.print(Line(session.tr(_EDITS), style="bold"))
    for code, n in sorted(counts.items()):
        line = Line(f"  {code} ", style="green").append(f"{slugs.get(code, ''):<28} ", style="default")
        console.print(line.append(session.tr(_IN_FILES, {"n": n, "files": files[code]}), style="default"))
    console.print()


def _syncs(counts: Any, console: Console, session: Session) -> None:
    from npudoctor.report.line import Line

    if not counts or not counts["found"]:
        return
    removed, left = sum(counts["removed"].values()), sum(counts["left"].values())
    words = {"found": counts["found"], "removed": removed, "left": left}
    console.print(Line(session.tr(_SYNCS, words), style="bold"))
    if left:
        known = {**counts["left"]}
        heats = ", ".join(
            f"{session.tr(HEATS[heat]) if heat in HEATS else heat} {known[heat]}"
            for heat in sorted(known, key=lambda h: (list(HEATS).index(h) if h in HEATS else 9, h))
        )
        console.print(Line("  " + session.tr(_LEFT_HOT, {"heats": heats})))
    console.print()


def _left(changes: Changes, lead: set[str], console: Console, session: Session) -> None:
    """Items left, by code, the gravest first; notes only as a count unless --verbose.

    Codes of `lead` come before everything else, and also when their rewrite was made.
    """
    groups: dict[tuple[int, str, str], list[Item]] = {}
    for item in changes.items:
        if not item.applied or item.finding.code in lead:
            groups.setdefault(_kind(item), []).append(item)
    notes: Counter[str] = Counter()
    for key in sorted(groups, key=lambda k: (k[1] not in lead, k)):
        severity, code, _ = key
        if _ORDER[severity] is Severity.NOTE and not session.verbose and code not in lead:
            notes[code] += len(groups[key])
        else:
            _group(groups[key], _ORDER[severity], console, session)
    if notes:
        from npudoctor.report.line import Line

        words = {"n": sum(notes.values()), "codes": ", ".join(sorted(notes))}
        console.print(Line(session.tr(_NOTES, words), style="dim"))
        console.print()


def _kind(item: Item) -> tuple[int, str, str]:
    """Items of one kind are shown together: one severity, code and advice."""
    finding = item.finding
    advice = finding.fixes[0].note.en if finding.fixes else ""
    return _ORDER.index(finding.severity), finding.code, finding.cause.en + advice


def _group(items: list[Item], severity: Severity, console: Console, session: Session) -> None:
    from rich.padding import Padding

    from npudoctor.report.line import Line

    first = items[0].finding
    head = Line(f"{first.code} ", style=_STYLE[severity]).append(f"{first.slug} ({len(items)})", style="bold")
    console.print(head)
    alike = _alike(items, session)
    shown = alike if session.verbose else alike[:_SHOWN_PLACES]
    for title, same in shown:
        console.print(Padding(Line(f"{place_of(same[0])}  {title}"), (0, 0, 0, 4)))
        if len(same) > 1:
            also = session.tr(_ALSO, {"n": len(same) - 1, "files": len({_file(i) for i in same})})
            console.print(Padding(Line(also, style="dim"), (0, 0, 0, 8)))
    rest = sum(len(same) for _, same in alike[len(shown) :])
    if rest:
        more = session.tr(_MORE, {"n": rest})
        console.print(Padding(Line(more, style="dim"), (0, 0, 0, 4)))
    for label, text in ((_CAUSE, first.cause), (_FIX, first.fixes[0].note if first.fixes else None)):
        if text is not None:
            line = Line(f"{session.tr(label)}: ", style="dim")
            line.append(plain(session.tr(text, first.params)), style="not dim")
            console.print(Padding(line, (0, 0, 0, 4)))
    console.print()


def _alike(items: list[Item], session: Session) -> list[tuple[str, list[Item]]]:
    """Items with the words they have in common; every item by itself with --verbose."""
    titles = [plain(session.tr(i.finding.title, i.finding.params)) for i in items]
    if session.verbose:
        return [(title, [item]) for title, item in zip(titles, items)]
    found: dict[str, list[Item]] = {}
    for title, item in zip(titles, items):
        found.setdefault(title, []).append(item)
    return list(found.items())


def _file(item: Item) -> str:
    return item.finding.place.path if item.finding.place else "?"


def place_of(item: Item) -> str:
    """`path:line` of an item in the text before the migration."""
    place = item.finding.place
    if place is None:
        return "?"
    return place.path if place.line is None else f"{place.path}:{place.line}"


def plain(text: str) -> str:
    """`text` with control characters escaped: quoted source must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
