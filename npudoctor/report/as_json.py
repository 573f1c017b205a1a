"""The machine-readable form of a report: `npudoctor.report/1`, see data/schema/report-1.json."""

from __future__ import annotations

import json
from typing import Any

from npudoctor.core.finding import Finding, Fix
from npudoctor.core.report import Report, Unit
from npudoctor.version import __version__

SCHEMA = "npudoctor.report/1"


def dumps(report: Report, lang: str) -> str:
    """JSON text of `report`, keys sorted, texts in `lang`."""
    return json.dumps(as_dict(report, lang), ensure_ascii=False, indent=2, sort_keys=True)


def as_dict(report: Report, lang: str) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "schema": SCHEMA,
        "npudoctor": __version__,
        "command": report.command,
        "lang": lang,
        "verdict": report.verdict.render(lang, report.params),
        "exit_code": int(report.exit_code()),
        "findings": [_finding(f, lang) for f in report.findings],
        "passed": [_unit(u, lang) for u in report.passed],
        "not_checked": [_unit(u, lang) for u in report.not_checked],
        "facts": {f.key: {"value": f.words("en"), "place": f.place} for f in report.facts},
        "tables": dict(report.tables),
        "next_step": report.next_step.render(lang, report.params) if report.next_step else None,
        "banner": report.banner.render(lang) if report.banner else None,
        "extra": dict(report.extra),
    }


def _finding(finding: Finding, lang: str) -> dict[str, Any]:
    place = finding.place
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity.value,
        "title": finding.title.render(lang, finding.params),
        "cause": finding.cause.render(lang, finding.params),
        "place": None
        if place is None
        else {k: v for k, v in vars(place).items() if v is not None},
        "evidence": [{"place": e.place, "value": e.value} for e in finding.evidence],
        "fixes": [_fix(fix, finding, lang) for fix in finding.fixes],
        "sources": list(finding.sources),
        "consequences": [_finding(f, lang) for f in finding.consequences],
    }


def _fix(fix: Fix, finding: Finding, lang: str) -> dict[str, Any]:
    return {
        "note": fix.note.render(lang, finding.params),
        "commands": list(fix.commands),
        "safety": fix.safety.value,
        "needs_root": fix.needs_root,
        "host_only": fix.host_only,
    }


def _unit(unit: Unit, lang: str) -> dict[str, Any]:
    return {
        "code": unit.code,
        "slug": unit.slug,
        "title": unit.title.render(lang, unit.params),
        "reason": unit.reason.render(lang, unit.params) if unit.reason else None,
    }
