"""Keep a command's last result for the journey and for `npudoctor report`."""

from __future__ import annotations

from npudoctor import state
from npudoctor.core.report import Report
from npudoctor.core.text import LANGUAGES
from npudoctor.report.as_json import as_dict


def keep(report: Report) -> None:
    """Remember `report` as the last result of its command, in every language."""
    state.remember(report.command, {lang: as_dict(report, lang) for lang in LANGUAGES})
