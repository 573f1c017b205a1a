"""One export from a target to a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npudoctor import tables
from npudoctor.core.blocks import Answer, Block
from npudoctor.core.errors import UserError
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.report import Report, Unit
from npudoctor.core.text import Text, filled, verbatim
from npudoctor.export import atc, bench, convert, om, present, source, verify
from npudoctor.export.graph import Graph, read
from npudoctor.export.rule import all_rules

_DIFFERS = Text(
    "{what}: the exported model is {relative:.1e} off torch", "{what}：导出模型与 torch 相差 {relative:.1e}"
)
_DIFFERS_CAUSE = Text(
    "rounding explains 1e-6; {limit:.0e} is allowed. The graph does not compute what the module computes: "
    "a branch that "
    "was traced away, a constant taken from the example input, or an operator that the runtime reads "
    "differently",
    "舍入误差约为 1e-6，允许 {limit:.0e}。计算图与模型不一致：某个分支在跟踪时丢失、示例输入中的值被固化，"
    "或运行时对某算子的解释不同",
)
_DIFFERS_FIX = Text("export with the other exporter and compare again", "换用另一种导出器后再比较")
_ATC_FAILED = Text("atc ended with status {status}", "atc 以状态 {status} 结束")
_ATC_CAUSE = Text("its last line: {last}", "其最后一行：{last}")
_ATC_FIX = Text("read its log with explain", "用 explain 解读其日志")


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
    comparisons, loop = verify.compare(made, call), verify.closed_loop(made, call)
    findings, passed = _judge(graph)
    findings[:0] = _differences(comparisons, loop, options, used)
    soc = options.soc or soc_here()
    words = atc.command(options.output, graph, soc)
    conversion = atc.run(words, options.output) if options.run_atc and soc else None
    om_found = list(_om(conversion, options, made, comparisons))
    findings += [f for f in om_found if isinstance(f, Finding)]
    timings = bench.bench(made, options.opset, options.exporter) if options.with_bench else []
    blocks: list[Block] = [present.checks(comparisons, loop), *present.bench_table(timings)]
    blocks.append(_commands(words, conversion, soc))
    return Report(
        "export",
        present.VERDICT if not _bad(findings) else present.VERDICT_BAD,
        {"path": str(options.output), "bytes": options.output.stat().st_size, "count": len(findings)},
        findings=tuple(findings),
        passed=tuple(passed),
        facts=present.facts(made, graph, used, options.output),
        tables={"atc_onnx_ops": tables.load("atc_onnx_ops").date},
        blocks=tuple(blocks),
        extra=present.extra(made, graph, used, comparisons, loop, timings, words, conversion, soc),
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
    comparisons: list[verify.Comparison], loop: verify.Loop | None, options: Options, used: str
) -> Iterator[Finding]:
    pairs = [(f"{c.kind} ({c.rows})", c.relative) for c in comparisons]
    if loop is not None:
        pairs.append(("closed loop", loop.difference))
    for what, relative in pairs:
        if not relative <= verify.RTOL:
            other = "legacy" if used == "dynamo" else "dynamo"
            yield Finding(
                "NPU601",
                "onnx-differs",
                Severity.ERROR,
                _DIFFERS,
                _DIFFERS_CAUSE,
                params={"what": what, "relative": relative, "limit": verify.RTOL},
                evidence=(Evidence(str(options.output), f"{relative:.2e}"),),
                fixes=(Fix(_DIFFERS_FIX, (f"npudoctor export ... --exporter {other}",)),),
            )


def _om(
    conversion: atc.Conversion | None,
    options: Options,
    made: source.Source,
    comparisons: list[verify.Comparison],
) -> Iterator[Finding]:
    """What went wrong on the way to the OM, or in it."""
    if conversion is None:
        return
    if conversion.om is None:
        log = options.output.with_suffix(".atc.log")
        log.write_text("\n".join(conversion.log) + "\n", encoding="utf-8")
        params = {"status": conversion.code, "last": conversion.log[-1] if conversion.log else "-"}
        yield Finding(
            "NPU602",
            "atc-failed",
            Severity.ERROR,
            _ATC_FAILED,
            _ATC_CAUSE,
            params=params,
            fixes=(Fix(_ATC_FIX, (f"npudoctor explain {log}",)),),
        )
        return
    if not om.available():
        return
    try:
        found = verify.compare(made, om.caller(conversion.om, max(options.ranges or (options.batch,))))
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(present.OM_FAILED, params={"reason": str(error).split("\n")[0]}) from None
    for comparison in found:
        # ATC computes products in float16 by default on most chips.
        if not comparison.relative <= present.OM_RTOL:
            params = {
                "what": f"OM, {comparison.kind}",
                "relative": comparison.relative,
                "limit": present.OM_RTOL,
            }
            yield Finding("NPU603", "om-differs", Severity.ERROR, _DIFFERS, _DIFFERS_CAUSE, params=params)


def _commands(words: list[str], conversion: atc.Conversion | None, soc: str | None) -> Answer:
    state = present.state(conversion, soc)
    return Answer(
        present.ATC_TITLE,
        ((present.ATC_STATE, filled(state, {"soc": soc or "-"})),),
        (verbatim(atc.line(words)).en.replace("{{", "{").replace("}}", "}"),),
    )


def _bad(findings: list[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in findings)
