"""The quick part of `npudoctor check` for the environment stage: facts and judgement, no probe of torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npudoctor.core.finding import Finding, Severity

TIMEOUT_S = 20.0


def check_errors(python: str) -> tuple[Finding, ...]:
    """Root causes with an error that `check` finds around this interpreter.

    Only files, variables and npu-smi are read; whether torch imports and computes is what
    the smoke test's own children find out.
    """
    from npudoctor.check.lookups import package_names
    from npudoctor.check.run import report
    from npudoctor.machine.collect import collect
    from npudoctor.machine.live import LiveHost
    from npudoctor.machine.probe import Settings
    from npudoctor.pairing.table import load

    settings = Settings(python=python, run_probes=False, timeout_s=TIMEOUT_S, packages=package_names())
    found = report(collect(LiveHost(), settings), load()).findings
    return tuple(f for f in found if any(one.severity is Severity.ERROR for one in f.walk()))


def under_cause(own: Sequence[Finding], roots: Sequence[Finding]) -> tuple[Finding, ...]:
    """`own` findings folded under the first root cause; unchanged when there is none."""
    if not roots:
        return tuple(own)
    first, *rest = roots
    return (replace(first, consequences=(*first.consequences, *own)), *rest)
