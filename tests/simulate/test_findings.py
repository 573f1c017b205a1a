"""Findings from a summary: each code appears when its cause is there, and not otherwise."""

from __future__ import annotations

from typing import Any

from npudoctor.core.finding import Severity
from npudoctor.simulate.findings import findings
from npudoctor.simulate.runner import Outcome


def line(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"path": "a.py", "line": 3, "text": "x", "h2d": 0, "h2d_bytes": 0, "paths": []}
    return {**base, **changes}


def summary(*lines: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"lines": list(lines), "limits": [], "notes": {}, "totals": {"syncs": 10}, **changes}


def codes(numbers: dict[str, Any], outcome: Outcome | None = None) -> list[str]:
    return [finding.code for finding in findings(numbers, outcome)]


def test_a_clean_run_has_none() -> None:
    assert codes(summary(line()), Outcome(0)) == []


def test_a_failed_program() -> None:
    found = findings(summary(), Outcome(1, "ValueError: no", "/p/b.py:7"))
    assert found[0].code == "NPU401"
    assert found[0].severity is Severity.ERROR
    assert str(found[0].place) == "/p/b.py:7"


def test_validation_needs_a_library_path_below_the_line() -> None:
    calls = ["a.py:3 f", "torch/distributions/normal.py:60 __init__"]
    assert codes(summary(line(paths=[{"calls": calls, "times": 4}]))) == ["NPU402"]
    assert codes(summary(line(paths=[{"calls": ["a.py:3 f"], "times": 4}]))) == []


def test_repeated_uploads() -> None:
    (found,) = findings(summary(line(h2d=100, h2d_bytes=1200)), None)
    assert found.code == "NPU408"
    assert "100 x 12 bytes" in found.evidence[0].value


def test_limits_take_their_words_from_the_table() -> None:
    hit = {"key": "matmul-float64", "operator": "mm", "dtype": "float64", "times": 2, "path": "a.py",
           "line": 3}
    (found,) = findings(summary(limits=[hit]), None)
    assert found.code == "NPU406"
    assert found.severity is Severity.WARNING
    assert found.sources[0].startswith("https://")
    weak = {**hit, "key": "float64-cast"}
    assert findings(summary(limits=[weak]), None)[0].severity is Severity.NOTE


def test_compile_is_a_note() -> None:
    assert codes(summary(notes={"torch.compile": 1})) == ["NPU407"]
