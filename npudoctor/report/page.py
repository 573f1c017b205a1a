"""One self-contained HTML page of a report: no script, no outside file, readable when printed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npudoctor.core.blocks import Answer, Block, Table, cell_text
from npudoctor.core.errors import cannot_write
from npudoctor.core.finding import Finding
from npudoctor.core.text import Text
from npudoctor.report import template
from npudoctor.version import __version__

if TYPE_CHECKING:
    from npudoctor.core.report import Report
    from npudoctor.session import Session

_COLOURS = ("#2a78a8", "#3d9a5f", "#c98f1c", "#8a4f9e", "#7a7a7a", "#b4453c")
_WORDS = {
    "cause": Text("cause", "原因"),
    "fix": Text("fix", "修复"),
    "source": Text("source", "来源"),
    "follows": Text("follows from this", "由此引起"),
    "next": Text("next", "下一步"),
    "tables": Text("data tables", "数据表"),
}


def require_writer(path: Path) -> None:
    """Refuse before the work starts what would fail after it.

    Raises:
        UserError: jinja2 is not installed, or the folder of `path` does not exist.
    """
    template.require()
    if not path.absolute().parent.is_dir():
        raise cannot_write(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))


def write(session: Session, report: Report, path: Path) -> None:
    """Write the page atomically.

    Raises:
        UserError: the file cannot be written.
    """
    from npudoctor.atomic import write_output

    write_output(path, render(report, session.lang))


def render(report: Report, lang: str) -> str:
    """The page as text."""
    return template.fill(
        "report.html.j2",
        lang=lang,
        version=__version__,
        command=report.command,
        banner=report.banner.render(lang) if report.banner else "",
        verdict=report.verdict.render(lang, report.params),
        next=report.next_step.render(lang, report.params) if report.next_step else "",
        facts=[(fact.label.render(lang), fact.words(lang)) for fact in report.facts],
        blocks=[_block(block, lang) for block in report.blocks],
        findings=[_finding(finding, lang) for finding in report.findings],
        tables=sorted(report.tables.items()),
        colours=_COLOURS,
        words={name: text.render(lang) for name, text in _WORDS.items()},
    )


def _block(block: Block, lang: str) -> dict[str, Any]:
    if isinstance(block, Answer):
        return {
            "kind": "answer",
            "title": block.title.render(lang),
            "lines": [(label.render(lang), text.render(lang)) for label, text in block.lines],
            "commands": block.commands,
        }
    if isinstance(block, Table):
        marks = [*block.marks, *[""] * len(block.rows)]
        return {
            "kind": "table",
            "title": block.title.render(lang),
            "columns": [column.render(lang) for column in block.columns],
            "right": block.right,
            "rows": [(mark, [cell_text(c, lang) for c in row]) for mark, row in zip(marks, block.rows)],
            "note": block.note.render(lang) if block.note else "",
        }
    longest = max((sum(v for _, v in bar.parts) for bar in block.bars), default=0.0) or 1.0
    return {
        "kind": "bars",
        "title": block.title.render(lang),
        "unit": block.unit,
        "names": [cell_text(name, lang) for name, _ in block.bars[0].parts] if block.bars else [],
        "bars": [
            (
                cell_text(bar.label, lang),
                [(100 * v / longest, v) for _, v in bar.parts],
                sum(v for _, v in bar.parts),
            )
            for bar in block.bars
        ],
    }


def _finding(finding: Finding, lang: str) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "title": finding.title.render(lang, finding.params),
        "cause": finding.cause.render(lang, finding.params),
        "evidence": [(e.place, e.words(lang)) for e in finding.evidence],
        "fixes": [(fix.note.render(lang, finding.params), fix.commands) for fix in finding.fixes],
        "sources": finding.sources,
        "follows": [f.title.render(lang, f.params) for c in finding.consequences for f in c.walk()],
    }
