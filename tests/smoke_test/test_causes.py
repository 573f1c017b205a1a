"""Each way for a child to fail gives one clear stage failure with a fix."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from npudoctor.core.finding import Finding
from npudoctor.smoke_test import causes, child
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.stage import Context, Outcome, Status
from npudoctor.smoke_test.stages import npu301_environment, npu302_device_hello

Scripted = Callable[[str], Context]

PYTHON = {"event": "python", "version": "3.11", "executable": "x", "packages": {}, "davinci": []}
LOADER = (
    "RuntimeError: Failed to load the backend extension: torch_npu",
    "File torch_npu/__init__.py\nImportError: libhccl.so: cannot open shared object file: No such file or "
    "directory",
)


def saying(*events: dict[str, object]) -> str:
    """Code of a child that emits these events."""
    return "\n".join(f"print({json.dumps(event)!r}, flush=True)" for event in events)


def failure(error: str, trace: str = "") -> dict[str, object]:
    return {"event": "failed", "error": error, "trace": trace}


NO_LIBHCCL = saying(PYTHON, failure(*LOADER))
CASES = {
    "timed-out": "import time; time.sleep(30)",
    "ended-by-signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "library-missing": NO_LIBHCCL,
    "module-missing": saying(failure("ModuleNotFoundError: No module named 'torch'")),
    "raised": "raise RuntimeError('aclnn stream synchronize failed')",
    "no-result": "print('nothing useful')",
}


@pytest.mark.parametrize("slug", CASES)
def test_every_failure_has_its_name(slug: str, scripted: Scripted) -> None:
    outcome = npu301_environment.run(scripted(CASES[slug]))
    assert outcome.status is Status.FAIL
    assert [f.slug for f in outcome.findings] == [slug]
    for lang in ("en", "zh"):
        words(outcome.findings[0], lang)
        assert outcome.summary.render(lang)


def words(finding: Finding, lang: str) -> str:
    parts = [finding.title, finding.cause, *(fix.note for fix in finding.fixes)]
    return " ".join(part.render(lang, finding.params) for part in parts)


def test_missing_cann_is_not_called_a_torch_problem(scripted: Scripted) -> None:
    finding = npu301_environment.run(scripted(NO_LIBHCCL)).findings[0]
    text = words(finding, "en")
    assert "libhccl.so" in text
    assert "torch itself is not broken" in text
    assert any("set_env.sh" in c for fix in finding.fixes for c in fix.commands)


def test_an_interpreter_that_cannot_start(context: Context) -> None:
    context.plan = replace(context.plan, python="/no/such/python")
    outcome = npu301_environment.run(context)
    assert [f.slug for f in outcome.findings] == ["interpreter-not-started"]


def test_the_last_frame_of_a_hang_is_named(context: Context) -> None:
    run = ChildRun(
        ("python",),
        (),
        ("Timeout (0:00:05)!", 'File "a.py", line 3 in open', 'File "b.py", line 9'),
        -15,
        True,
        5.0,
    )
    finding = causes.no_result("NPU302", run, context).findings[0]
    assert 'File "a.py", line 3 in open' in words(finding, "en")


def hello(place: str, values: list[float], same: bool) -> str:
    event = {"event": "hello", "device": place, "values": values, "opened_s": 0.1, "first_kernel_s": 0.01}
    return saying(event, {"event": "copy", "same": same, "bytes": 1})


@pytest.mark.parametrize(
    ("kind", "place", "values", "same", "slug"),
    [
        ("npu", "cpu", [2.0] * 4, True, "wrong-device"),
        ("npu", "npu:0", [2.0, 2.0, 2.0, 1.0], True, "wrong-value"),
        ("npu", "npu:0", [2.0] * 4, False, "wrong-value"),
        ("npu", "npu:0", [2.0] * 4, True, None),
        ("cpu", "cpu", [2.0] * 4, True, None),
    ],
)
def test_hello_judges_place_and_value(
    scripted: Scripted, kind: str, place: str, values: list[float], same: bool, slug: str | None
) -> None:
    context = scripted(hello(place, values, same))
    assert context.device is not None
    context.device = replace(context.device, kind=kind)
    outcome: Outcome = npu302_device_hello.run(context)
    assert [f.slug for f in outcome.findings] == ([slug] if slug else [])
    assert (outcome.status is Status.PASS) == (slug is None)


def test_a_crash_after_the_events_is_still_a_failure(scripted: Scripted) -> None:
    code = hello("cpu", [2.0] * 4, True) + "\nimport os; os.kill(os.getpid(), 11)"
    outcome = npu302_device_hello.run(scripted(code))
    assert [f.slug for f in outcome.findings] == ["ended-by-signal"]
    assert "SIGSEGV" in outcome.summary.render("en")


def test_this_interpreter_imports_torch(context: Context) -> None:
    pytest.importorskip("torch")
    outcome = npu301_environment.run(context)
    assert outcome.status is Status.PASS, outcome.log
    assert outcome.facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert child.BOOT.is_file()
