"""Convert with ATC where it is installed, and compare the OM with the ONNX file where it can be run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from npudoctor.core.errors import first_line
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.streams import stdout_aside
from npudoctor.core.text import Text
from npudoctor.export import atc, om, verify
from npudoctor.export.source import Source

_ATC_FAILED = Text("atc ended with status {status}", "atc 以状态 {status} 结束")
_ATC_CAUSE = Text("its last line: {last}", "其最后一行：{last}")
_ATC_FIX = Text("read its log with explain", "用 explain 解读其日志")
_DIFFERS = Text(
    "the OM is {relative:.1e} off the ONNX file ({what})", "OM 与 ONNX 文件相差 {relative:.1e}（{what}）"
)
_DIFFERS_CAUSE = Text(
    "{limit:.0e} is allowed, because ATC picks float16 wherever an operator has it. More than that is a "
    "value too large or too small for float16, or an operator that ATC reads differently",
    "允许 {limit:.0e}，因为只要算子支持，ATC 就会选用 float16。超出该值说明有数值超出 float16 的表示范围，"
    "或 ATC 对某个算子的解释不同",
)
_DIFFERS_FIX = Text("convert again with the types of the ONNX file", "按 ONNX 文件中的数据类型重新转换")
_PRECISION = "--precision_mode_v2=origin"
_PRECISION_SOURCE = "https://www.hiascend.com/document/detail/zh/canncommercial/latest/devaids/atctool/atlasatcparam_16_0068.html"
_NOT_RUN = Text("the OM cannot be run: {reason}", "无法运行 OM：{reason}")
_NOT_RUN_CAUSE = Text(
    "atc made the file, but the ACL runtime does not load or run it on this machine",
    "atc 已生成文件，但本机的 ACL 运行时无法加载或运行它",
)
_NOT_RUN_FIX = Text("find out what the environment lacks", "查明环境缺少什么")


@dataclass(frozen=True)
class Converted:
    """What became of the OM: no `conversion` where ATC was not run, no `comparisons` where the OM was not."""

    conversion: atc.Conversion | None
    comparisons: tuple[verify.Comparison, ...] = ()
    findings: tuple[Finding, ...] = ()


def convert(
    words: list[str], path: Path, source: Source, reference: verify.Call, batch: int, ranges: tuple[int, ...]
) -> Converted:
    """Run `words`, then the OM.

    Args:
        path: the ONNX file; `reference` is that file as a function.
        ranges: sizes of --dynamic-batch; empty for the fixed `batch`.
    """
    conversion = atc.run(words, path)
    if conversion is None:
        return Converted(None)
    if conversion.om is None:
        return Converted(conversion, findings=(_failed(conversion, path),))
    if not om.available():
        return Converted(conversion)
    try:
        with stdout_aside():  # the runtime greets on standard output
            call = om.caller(conversion.om, ranges or (batch,), dynamic=bool(ranges))
            found = verify.compare(source, call, reference=reference, limits=om.LIMITS)
    except Exception as error:  # the runtime has its own kinds, from deep inside
        return Converted(conversion, findings=(_not_run(error, conversion.om),))
    named = tuple(replace(c, kind=f"om {c.kind}") for c in found)
    return Converted(conversion, named, tuple(_differences(named, words)))


def _failed(conversion: atc.Conversion, path: Path) -> Finding:
    log = path.with_suffix(".atc.log")
    log.write_text("\n".join(conversion.log) + "\n", encoding="utf-8")
    return Finding(
        "NPU602",
        "atc-failed",
        Severity.ERROR,
        _ATC_FAILED,
        _ATC_CAUSE,
        params={"status": conversion.code, "last": conversion.log[-1] if conversion.log else "-"},
        fixes=(Fix(_ATC_FIX, (f"npudoctor explain {log}",)),),
    )


def _differences(comparisons: tuple[verify.Comparison, ...], words: list[str]) -> Iterator[Finding]:
    for comparison in comparisons:
        if not comparison.ok:
            yield Finding(
                "NPU603",
                "om-differs",
                Severity.ERROR,
                _DIFFERS,
                _DIFFERS_CAUSE,
                params={
                    "what": comparison.kind,
                    "relative": comparison.relative,
                    "limit": comparison.limit,
                },
                fixes=(Fix(_DIFFERS_FIX, (atc.line([*words, _PRECISION]),)),),
                sources=(_PRECISION_SOURCE,),
            )


def _not_run(error: Exception, path: Path) -> Finding:
    reason = first_line(error)
    return Finding(
        "NPU604",
        "om-not-run",
        Severity.ERROR,
        _NOT_RUN,
        _NOT_RUN_CAUSE,
        params={"reason": reason},
        evidence=(Evidence(str(path), f"{type(error).__name__}: {reason}"),),
        fixes=(Fix(_NOT_RUN_FIX, ("npudoctor check",)),),
    )
