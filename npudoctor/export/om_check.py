"""Convert with ATC where it is installed, and compare the OM with the ONNX file where it can be run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from npudoctor.core.errors import first_line
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.streams import stdout_aside
from npudoctor.export import atc, om, verify
from npudoctor.export import words as said
from npudoctor.export.source import Source

_PRECISION = "--precision_mode_v2=origin"


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
    try:
        log.write_text("\n".join(conversion.log) + "\n", encoding="utf-8")
        commands: tuple[str, ...] = (f"npudoctor explain {shlex.quote(str(log))}",)
    except OSError:  # the disk may be what atc failed of; its last words are told all the same
        commands = ()
    return Finding(
        "NPU602",
        "atc-failed",
        Severity.ERROR,
        said.ATC_FAILED,
        said.ATC_CAUSE,
        params={"status": conversion.code, "last": conversion.log[-1] if conversion.log else "-"},
        fixes=(Fix(said.ATC_FIX, commands),),
    )


def _differences(comparisons: tuple[verify.Comparison, ...], words: list[str]) -> Iterator[Finding]:
    for comparison in comparisons:
        if not comparison.ok:
            yield Finding(
                "NPU603",
                "om-differs",
                Severity.ERROR,
                said.OM_DIFFERS,
                said.OM_DIFFERS_CAUSE,
                params={
                    "what": comparison.kind,
                    "relative": comparison.relative,
                    "limit": comparison.limit,
                },
                fixes=(Fix(said.OM_DIFFERS_FIX, (atc.line([*words, _PRECISION]),)),),
                sources=(said.PRECISION_SOURCE,),
            )


def _not_run(error: Exception, path: Path) -> Finding:
    reason = first_line(error)
    return Finding(
        "NPU604",
        "om-not-run",
        Severity.ERROR,
        said.NOT_RUN,
        said.NOT_RUN_CAUSE,
        params={"reason": reason},
        evidence=(Evidence(str(path), f"{type(error).__name__}: {reason}"),),
        fixes=(Fix(said.NOT_RUN_FIX, ("npudoctor check",)),),
    )
