"""One self-contained page with the last result of every command, English and Chinese in one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npudoctor.core.text import LANGUAGES, Text
from npudoctor.journey import STEPS
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


def page(known: Mapping[str, Last], lang: str) -> str:
    """The page as text.

    Raises:
        ImportError: jinja2 is not installed (extra `report`).
    """
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    source = (Path(__file__).parent / "summary.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        lang=lang,
        version=__version__,
        languages=[(code, name) for code, name in zip(LANGUAGES, ("English", "中文"))],
        words={code: {k: t.render(code) for k, t in _WORDS.items()} for code in LANGUAGES},
        steps={code: [_step(step, known.get(step.command), code) for step in STEPS] for code in LANGUAGES},
    )


def _step(step: Any, last: Last | None, lang: str) -> dict[str, Any]:
    report = last.report.get(lang) if last is not None else None
    return {
        "command": step.command,
        "question": step.question.render(lang),
        "call": step.call,
        "when": last.when if last is not None else "",
        "folder": last.folder if last is not None else "",
        "report": report,
        "bad": bool(report and report.get("exit_code")),
    }
