"""What a command has to say, before anyone decides how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npudoctor.core.blocks import Block, Cell, Phrase, cell_text
from npudoctor.core.exits import Exit
from npudoctor.core.finding import Finding, Severity
from npudoctor.core.text import Text


@dataclass(frozen=True)
class Unit:
    """A check or rule that ran without a finding, or did not run and why."""

    code: str
    slug: str
    title: Text
    reason: Text | None = None
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """One line of the summary of what was looked at: a label, a value, and its place."""

    key: str
    label: Text
    value: Cell
    place: str = ""

    def words(self, lang: str) -> str:
        """The value in `lang`."""
        return cell_text(self.value, lang)


@dataclass(frozen=True)
class Report:
    """Findings ordered by root cause, and what they rest on.

    Attributes:
        command: the command that made it (`check`, `explain`, ...).
        verdict: the answer in one sentence.
        params: values for `verdict` and `next_step`.
        findings: root causes; what follows from each is folded under it.
        passed: units that ran and had nothing to say.
        not_checked: units whose facts could not be known; never counted as passed.
        facts: summary lines.
        tables: name of each data table used -> its date.
        next_step: the sensible next command, as text.
        extra: command-specific machine-readable data for the JSON form.
        blocks: tables, bars and answers, drawn between the facts and the findings.
        banner: what the reader must not miss; printed as the first and as the last line.
        decided: exit code of a command whose code does not follow from severities alone.
    """

    command: str
    verdict: Text
    params: Mapping[str, object] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    passed: tuple[Unit, ...] = ()
    not_checked: tuple[Unit, ...] = ()
    facts: tuple[Fact, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    next_step: Text | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    banner: Phrase | None = None
    decided: Exit | None = None

    def count(self, severity: Severity) -> int:
        """Number of findings of one severity, consequences included."""
        return sum(f.severity is severity for root in self.findings for f in root.walk())

    def exit_code(self, strict: bool = False) -> Exit:
        """FINDINGS when there is an error (with `strict`: a warning too), else OK; or as `decided`."""
        if self.decided is not None:
            return self.decided
        bad = self.count(Severity.ERROR) + (self.count(Severity.WARNING) if strict else 0)
        return Exit.FINDINGS if bad else Exit.OK
