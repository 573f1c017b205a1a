"""One export from a target to a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npudoctor import tables
from npudoctor.core.blocks import Answer, Block
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.report import Report, Unit
from npudoctor.core.text import filled
from npudoctor.export import atc, bench, convert, loop, om_check, present, source, verify
from npudoctor.export import words as said
from npudoctor.export.graph import Graph, read
from npudoctor.export.rule import all_rules


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    output: Path
    batch: int = 1
    ranges: tuple[int, ...] = ()
    opset: int = convert.OPSET
    soc: str | None = None
    exporter: str = "auto"
    with_bench: bool = False
    run_atc: bool = True


def export(target: str, options: Options) -> Report:
    """Export, verify, judge, convert where ATC exists.

    Raises:
        UserError: the target, a package or the output is not usable.
    """
    convert.require_packages()
    made = source.resolve(target)
    used = convert.to_onnx(
        made,
        options.output,
        batch=options.batch,
        dynamic=bool(options.ranges),
        opset=options.opset,
        exporter=options.exporter,
    )
    verify.check_file(options.output)
    graph = read(options.output, options.ranges)
    call = verify.caller(verify.session(options.output), options.batch)
    comparisons, closed = verify.compare(made, call), loop.closed_loop(made, call)
    findings, passed = _judge(graph)
    findings[:0] = _differences(comparisons, closed, options, used)
    soc = options.soc or soc_here()
    words = atc.command(options.output, graph, soc)
    wanted = options.run_atc and soc is not None
    where = options.output, made, call, options.batch, options.ranges
    done = om_check.convert(words, *where) if wanted else om_check.Converted(None)
    findings += done.findings
    timings = _bench(made, options, soc if wanted else None) if options.with_bench else []
    blocks: list[Block] = [present.checks([*comparisons, *done.comparisons], closed)]
    blocks += [*present.bench_table(timings), _commands(words, done, soc)]
    return Report(
        "export",
        present.VERDICT if not _bad(findings) else present.VERDICT_BAD,
        {"path": str(options.output), "bytes": options.output.stat().st_size},
        findings=tuple(findings),
        passed=tuple(passed),
        facts=present.facts(made, graph, used, options.output),
        tables={"atc_onnx_ops": tables.load("atc_onnx_ops").date},
        next_step=present.NEXT,
        blocks=tuple(blocks),
        extra=present.extra(made, graph, used, comparisons, closed, timings, words, done, soc),
    )


def soc_here() -> str | None:
    """soc_version of the first chip that npu-smi names on this machine, or None."""
    from npudoctor.machine.collect import collect
    from npudoctor.machine.live import LiveHost
    from npudoctor.machine.probe import Settings

    return atc.soc_of(collect(LiveHost(), Settings(run_probes=False, timeout_s=10.0)).npu_smi)


def _judge(graph: Graph) -> tuple[list[Finding], list[Unit]]:
    findings: list[Finding] = []
    passed: list[Unit] = []
    for rule in all_rules().values():
        found = list(rule.run(graph))
        findings += found
        if not found:
            passed.append(Unit(rule.code, rule.slug, rule.title))
    return findings, passed


def _differences(
    comparisons: list[verify.Comparison], closed: loop.Loop | None, options: Options, used: str
) -> Iterator[Finding]:
    measured = [(f"{c.kind} ({c.rows})", c.relative, c.limit) for c in comparisons]
    if closed is not None:
        measured.append(("closed loop", closed.difference, closed.limit))
    for what, relative, limit in measured:
        if not relative <= limit:
            other = "legacy" if used == "dynamo" else "dynamo"
            yield Finding(
                "NPU601",
                "onnx-differs",
                Severity.ERROR,
                said.ONNX_DIFFERS,
                said.ONNX_DIFFERS_CAUSE,
                params={"what": what, "relative": relative, "limit": limit},
                evidence=(Evidence(str(options.output), f"{relative:.2e}"),),
                fixes=(Fix(said.ONNX_DIFFERS_FIX, (f"npudoctor export ... --exporter {other}",)),),
            )
    if closed is not None and closed.changed > closed.allowed:
        yield Finding(
            "NPU605",
            "closed-loop-differs",
            Severity.WARNING,
            said.OUTCOMES,
            said.OUTCOMES_CAUSE,
            params={"changed": closed.changed, "episodes": closed.episodes, "own": closed.own_changed},
        )


def _bench(made: source.Source, options: Options, soc: str | None) -> list[bench.Timing]:
    return bench.bench(made, options.opset, options.exporter, soc=soc)


def _commands(words: list[str], done: om_check.Converted, soc: str | None) -> Answer:
    state = present.state(done, soc)
    return Answer(
        present.ATC_TITLE,
        ((present.ATC_STATE, filled(state, {"soc": soc or "-"})),),
        (atc.line(words),),
    )


def _bad(findings: list[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in findings)
