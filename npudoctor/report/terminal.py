"""The form a person reads: verdict first, then each cause with its fix, consequences folded under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding

from npudoctor.core.finding import Finding, Severity
from npudoctor.core.text import Text
from npudoctor.report.line import Line, can_encode, padded

if TYPE_CHECKING:
    from rich.console import Console

    from npudoctor.core.report import Report, Unit
    from npudoctor.session import Session

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.NOTE: "·", None: "✓", "?": "?"}
_ASCII = {Severity.ERROR: "x", Severity.WARNING: "!", Severity.NOTE: "-", None: "+", "?": "?"}

_WHERE = Text("where", "位置")
_CAUSE = Text("cause", "原因")
_FIX = Text("fix", "修复")
_OR = Text("or", "或者")
_SOURCE = Text("source", "来源")
_FOLLOWS = Text("follows from this", "由此引起")
_ROOT = Text("needs root", "需要 root 权限")
_HOST = Text("host only, not from a container", "只能在主机上执行，容器内不行")
_PASSED = Text("{n} checks passed", "{n} 项检查通过")
_NOT_CHECKED = Text("{n} not checked", "{n} 项未检查")
_TABLES = Text("tables", "数据表")
_NEXT = Text("next", "下一步")


def render(report: Report, console: Console, session: Session) -> None:
    """Print `report` on `console`."""
    marks = _marks(console)
    if report.banner is not None:
        console.print(Line(report.banner.render(session.lang), style="bold"), soft_wrap=True)
    labels = [session.tr(fact.label) for fact in report.facts]
    width = max([13, *(cell_len(label) + 1 for label in labels)])
    for fact, label in zip(report.facts, labels):
        line = Line(padded(label, width), style="dim")
        line.append(fact.words(session.lang), style="not dim")
        if fact.place and session.verbose:
            line.append(f"  ({fact.place})")
        console.print(line)
    if report.facts:
        console.print()
    if report.blocks:
        from npudoctor.report.blocks import draw

        draw(report.blocks, console, session.lang)
    for finding in report.findings:
        _finding(finding, console, session, marks)
    _counts(report, console, session, marks)
    worst = next((s for s in (Severity.ERROR, Severity.WARNING) if report.count(s)), None)
    style = _STYLE[worst] if worst else "bold green"
    console.print(Line(session.tr(report.verdict, report.params), style=style))
    if report.next_step is not None:
        console.print(Line(f"{session.tr(_NEXT)}: {session.tr(report.next_step, report.params)}"))
    if report.banner is not None:
        console.print(Line(report.banner.render(session.lang), style="bold"), soft_wrap=True)


def render_finding(finding: Finding, console: Console, session: Session) -> None:
    """Print one finding, as `render` does."""
    _finding(finding, console, session, _marks(console))


def _marks(console: Console) -> dict:
    return _MARKS if can_encode(console, "".join(_MARKS.values())) else _ASCII


def _finding(finding: Finding, console: Console, session: Session, marks: dict) -> None:
    head = Line(f"{marks[finding.severity]} {finding.code} ", style=_STYLE[finding.severity])
    head.append(session.tr(finding.title, finding.params), style="bold")
    console.print(head)
    if finding.place is not None and str(finding.place) not in {e.place for e in finding.evidence}:
        _labelled(console, session.tr(_WHERE), str(finding.place))
    for item in finding.evidence if session.verbose else finding.evidence[:3]:
        _labelled(console, session.tr(_WHERE), f"{item.place}: {item.words(session.lang)}")
    _labelled(console, session.tr(_CAUSE), session.tr(finding.cause, finding.params))
    for number, fix in enumerate(finding.fixes):
        limits = [session.tr(t) for t, on in ((_ROOT, fix.needs_root), (_HOST, fix.host_only)) if on]
        note = session.tr(fix.note, finding.params) + (f" ({', '.join(limits)})" if limits else "")
        _labelled(console, session.tr(_OR if number else _FIX), note)
        for command in fix.commands:
            # A command is printed unwrapped, so that it can be copied from the terminal.
            console.print(Line(f"         $ {command}", style="bold cyan"), soft_wrap=True)
    for source in finding.sources if session.verbose else finding.sources[:1]:
        _labelled(console, session.tr(_SOURCE), source)
    if finding.consequences:
        _labelled(console, session.tr(_FOLLOWS), "")
        for consequence in [f for c in finding.consequences for f in c.walk()]:
            text = session.tr(consequence.title, consequence.params)
            console.print(Line(f"      {marks[consequence.severity]} {consequence.code} {text}", style="dim"))
    console.print()


def _labelled(console: Console, label: str, text: str) -> None:
    line = Line(f"{label}: ", style="dim")
    line.append(text, style="not dim")
    console.print(Padding(line, (0, 0, 0, 4)))


def _counts(report: Report, console: Console, session: Session, marks: dict) -> None:
    if session.verbose:
        for unit in report.passed:
            _unit(unit, console, session, marks[None], "green")
        for unit in report.not_checked:
            _unit(unit, console, session, marks["?"], "yellow")
    parts = []
    if report.passed:
        parts.append(session.tr(_PASSED, {"n": len(report.passed)}))
    if report.not_checked:
        parts.append(session.tr(_NOT_CHECKED, {"n": len(report.not_checked)}))
    if report.tables:
        dates = ", ".join(f"{name} {date}" for name, date in sorted(report.tables.items()))
        parts.append(f"{session.tr(_TABLES)}: {dates}")
    if parts:
        console.print(Line("; ".join(parts), style="dim"))


def _unit(unit: Unit, console: Console, session: Session, mark: str, style: str) -> None:
    line = Line(f"{mark} {unit.code} ", style=style)
    line.append(session.tr(unit.title, unit.params), style="not bold")
    if unit.reason is not None:
        line.append(f": {session.tr(unit.reason, unit.params)}")
    console.print(line)
