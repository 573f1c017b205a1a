"""One self-contained page with the last result of every command, English and Chinese in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.core.text import LANGUAGES, Text
from npudoctor.journey import STEPS, Step
from npudoctor.report import template
from npudoctor.state import Last
from npudoctor.version import __version__

_WORDS = {
    "title": Text("npudoctor report", "npudoctor 报告"),
    "none": Text("not run yet", "尚未运行"),
    "cause": Text("cause", "原因"),
    "fix": Text("fix", "修复"),
    "source": Text("source", "来源"),
    "follows": Text("follows from this", "由此引起"),
    "where": Text("where", "位置"),
    "unchecked": Text("not checked", "未检查"),
    "simulated": Text(
        "A result that says simulated was measured on no NPU.", "标有“模拟”的结果并非在 NPU 上测得。"
    ),
}
# what a result that an older version kept may lack
_REPORT: dict[str, Any] = {"verdict": "?", "facts": {}, "findings": [], "not_checked": []}
_FINDING: dict[str, Any] = {
    "code": "",
    "severity": "",
    "title": "",
    "place": None,
    "cause": "",
    "evidence": [],
    "fixes": [],
    "sources": [],
    "consequences": [],
}


def page(known: Mapping[str, Last], lang: str) -> str:
    """The page as text.

    Raises:
        UserError: jinja2 is not installed.
    """
    return template.fill(
        "summary.html.j2",
        lang=lang,
        version=__version__,
        languages=[(code, name) for code, name in zip(LANGUAGES, ("English", "中文"))],
        words={code: {k: t.render(code) for k, t in _WORDS.items()} for code in LANGUAGES},
        steps={code: [_step(step, known.get(step.command), code) for step in STEPS] for code in LANGUAGES},
    )


def _step(step: Step, last: Last | None, lang: str) -> dict[str, Any]:
    report = last.report.get(lang) if last is not None else None
    if report is not None:
        report = {**_REPORT, **report}
        report["findings"] = [{**_FINDING, **finding} for finding in report["findings"]]
    return {
        "command": step.command,
        "question": step.question.render(lang),
        "call": step.call,
        "when": last.when if last is not None else "",
        "folder": last.folder if last is not None else "",
        "report": report,
        "bad": bool(report and report.get("exit_code")),
    }
