"""Order, stop at the first failure, and what happens when a stage itself breaks."""

from __future__ import annotations

from collections.abc import Callable

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Finding, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import engine, summary
from npudoctor.smoke_test.stage import Context, Outcome, Stage, Status, failed, passed

WORD = Text("word", "词")


def stage(code: str, run: Callable[[Context], Outcome]) -> Stage:
    return Stage(code=code, slug="x", title=WORD, run=run)


def fail(context: Context) -> Outcome:
    return Outcome(
        Status.FAIL,
        Phrase(WORD),
        log=("line one", "line two"),
        findings=(Finding("NPU302", "bad", Severity.ERROR, WORD, WORD),),
    )


def boom(context: Context) -> Outcome:
    raise KeyError("missing")


def ok(context: Context) -> Outcome:
    return passed(WORD)


def test_stages_are_found_in_order_and_named_after_their_code() -> None:
    stages = engine.all_stages()
    assert [s.code for s in stages] == sorted(s.code for s in stages)
    assert [s.slug for s in stages][:3] == ["environment", "device-hello", "operator-parity"]
    assert all(s.code.startswith("NPU3") for s in stages)


def test_the_first_failure_ends_the_run(context: Context) -> None:
    ran: list[str] = []

    def note(context: Context) -> Outcome:
        ran.append("late")
        return ok(context)

    results = engine.run_stages([stage("NPU301", ok), stage("NPU302", fail), stage("NPU303", note)], context)
    assert [r.outcome.status for r in results] == [Status.PASS, Status.FAIL, Status.SKIP]
    assert ran == []
    assert engine.log_path(results[1], context).read_text() == "line one\nline two\n"
    assert str(context.folder) in engine.next_command(results[1], context)


def test_a_broken_stage_is_a_failure_of_ours_and_does_not_escape(context: Context) -> None:
    results = engine.run_stages([stage("NPU301", boom), stage("NPU302", ok)], context)
    assert [f.slug for f in results[0].outcome.findings] == ["stage-broke"]
    assert "KeyError" in results[0].outcome.summary.render("en")
    assert results[1].outcome.status is Status.SKIP


def test_report_of_a_failure(context: Context) -> None:
    results = engine.run_stages([stage("NPU301", ok), stage("NPU302", fail)], context)
    report = summary.report(results, context)
    assert report.exit_code() == 1
    assert report.params["number"] == 2
    assert "第 2 阶段（词）" in report.verdict.render("zh", report.params)
    assert report.next_step is not None
    assert report.banner is not None
    assert "not NPU hardware" in report.banner.render("en")


def test_a_run_without_device_claims_nothing(context: Context) -> None:
    context.device = None
    assert "proves nothing" in summary.banner(None, "npu").render("en")


def test_strict_json_values() -> None:
    assert summary.plain({"a": [float("nan"), 1.5, (float("inf"),)]}) == {"a": ["nan", 1.5, ["inf"]]}


def test_failed_keeps_the_first_finding_first(context: Context) -> None:
    first = Finding("NPU302", "a", Severity.ERROR, WORD, WORD)
    second = Finding("NPU302", "b", Severity.NOTE, WORD, WORD)
    assert [f.slug for f in failed(Phrase(WORD), first, None, findings=(second,)).findings] == ["a", "b"]


def test_a_known_symptom_in_the_log_becomes_the_cause(context: Context) -> None:
    def no_cann(context: Context) -> Outcome:
        log = (
            "Traceback (most recent call last):",
            "ImportError: libhccl.so: cannot open shared object file: No such file or directory",
        )
        return Outcome(
            Status.FAIL,
            Phrase(WORD),
            log=log,
            findings=(Finding("NPU302", "library-missing", Severity.ERROR, WORD, WORD),),
        )

    finding = engine.run_stages([stage("NPU302", no_cann)], context)[0].outcome.findings[0]
    assert "libhccl.so" in finding.title.render("en", finding.params)
    assert "library-missing" in [f.slug for f in finding.consequences]
    assert any("set_env.sh" in c for fix in finding.fixes for c in fix.commands)
