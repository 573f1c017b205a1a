"""When a probe failed and no check knows why: ask the symptoms what its output means."""

from __future__ import annotations

import dataclasses

from npudoctor.core.finding import Finding, Severity
from npudoctor.machine.facts import Machine, value

# Findings that only say that a probe failed; as a root they leave the cause open.
_OPEN = frozenset({"NPU074", "NPU090", "NPU091"})
_PLACE = "probe output"


def explained(findings: tuple[Finding, ...], machine: Machine) -> tuple[Finding, ...]:
    """The findings, each open root folded under the symptom that its output shows, if there is one."""
    if not any(_is_open(finding) for finding in findings):
        return findings
    symptom = _first_symptom(_output(machine))
    if symptom is None:
        return findings
    found = []
    for finding in findings:
        if _is_open(finding):
            finding = dataclasses.replace(symptom, severity=Severity.ERROR, consequences=(finding,))
        found.append(finding)
    return tuple(found)


def _is_open(finding: Finding) -> bool:
    return finding.code in _OPEN and not finding.params.get("known", False)


def _output(machine: Machine) -> str:
    """What the probes printed, without the npudoctor marks."""
    lines: list[str] = []
    for seen in (value(machine.probes.torch_npu), value(machine.probes.compute)):
        if seen is not None:
            lines += [*seen.tail, seen.error, *getattr(seen, "results", ())]
    return "\n".join(line for line in lines if line and line != "ok")


def _first_symptom(text: str) -> Finding | None:
    from npudoctor.symptoms import present
    from npudoctor.symptoms.match import scanned
    from npudoctor.symptoms.rank import causes

    if not text:
        return None
    scanner = scanned(text)
    findings = present.report(_PLACE, scanner, causes(scanner)[:1]).findings
    return findings[0] if findings else None
