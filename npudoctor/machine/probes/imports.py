"""Import torch and torch_npu, and add two tensors, in child processes with a time limit.

A healthy machine needs one child. Only when that one fails does a second, with torch's
backend autoload switched off, tell torch's own fault from that of the backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npudoctor.machine.children import source
from npudoctor.machine.facts import (
    Absent,
    ComputeRun,
    ImportRun,
    Known,
    Leaf,
    NotRecorded,
    Probes,
    Python,
    TimedOut,
    Unknown,
    Unparsed,
)
from npudoctor.machine.host import TIMEOUT, Command, Host, Observation
from npudoctor.machine.leaves import failed
from npudoctor.machine.parsers.marks import marks
from npudoctor.machine.parsers.traceback import exceptions, tail
from npudoctor.machine.probe import Probe, Settings

IMPORT, PLAIN, COMPUTE = "import torch", "import torch, torch_npu without autoload", "compute"
_SWITCHED_OFF = NotRecorded("--no-probes", "")


def collect(host: Host, settings: Settings, known: Mapping[str, Any]) -> Probes:
    """Run as few children as tell the whole story."""
    if not settings.run_probes:
        return Probes(_SWITCHED_OFF, _SWITCHED_OFF, _SWITCHED_OFF, _SWITCHED_OFF)
    python: Python = known["python"]
    if not isinstance(python.packages, Known):
        unknown: Any = python.packages
        return Probes(unknown, unknown, unknown, unknown)
    missing = Absent("package metadata")
    if python.first("torch") is None:
        return Probes(missing, missing, missing, missing)
    if python.first("torch-npu") is None:
        run = _import(_run(host, settings, IMPORT, "imports", ("torch",)), "torch")
        return Probes(run, run, missing, missing)
    return _with_backend(host, settings)


def _with_backend(host: Host, settings: Settings) -> Probes:
    seen = _run(host, settings, COMPUTE, "compute", ())
    torch, torch_npu = _import(seen, "torch"), _import(seen, "torch_npu")
    if all(isinstance(leaf, Known) and leaf.value.ok for leaf in (torch, torch_npu)):
        return Probes(torch, torch, torch_npu, _compute(seen))
    if seen.error == TIMEOUT:  # a second child would only hang as long again
        return Probes(torch, torch, torch_npu, TimedOut(seen.target, "import"))
    plain = _run(
        host, settings, PLAIN, "imports", ("torch", "torch_npu"), {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    )
    alone = _import(plain, "torch")
    # Where torch does not import even alone, nothing was learnt about torch_npu.
    backend = _import(plain, "torch_npu") if isinstance(alone, Known) and alone.value.ok else alone
    return Probes(torch, alone, backend, Absent("import failed"))


def _run(
    host: Host,
    settings: Settings,
    label: str,
    program: str,
    names: tuple[str, ...],
    environ: Mapping[str, str] | None = None,
) -> Observation:
    argv = (settings.python, "-c", source(program), *names)
    return host.run(Command(label, argv, settings.timeout_s, tuple((environ or {}).items())))


def _import(seen: Observation, name: str) -> Leaf[ImportRun]:
    data = seen.data or {}
    if any(mark.get("imported") == name for mark in marks(data.get("stdout", ""))):
        return Known(ImportRun(True), seen.target)
    if not seen.ok:
        return TimedOut(seen.target, f"import {name}") if seen.error == TIMEOUT else _not_run(seen)
    inner, outer = exceptions(data.get("stderr", ""))
    exit_code = data.get("exit")
    return Known(
        ImportRun(
            False,
            inner,
            outer,
            max(0, -(exit_code or 0)),
            exit_code,
            tail(data.get("stderr", "") or data.get("stdout", "")),
        ),
        seen.target,
    )


def _not_run(seen: Observation) -> Unknown:
    """A child that could not be started tells nothing; least of all that a package is absent."""
    leaf = failed(seen)
    return leaf if isinstance(leaf, Unknown) else Unknown(seen.target, seen.error)


def _compute(seen: Observation) -> Leaf[ComputeRun]:
    data = seen.data or {}
    told = marks(data.get("stdout", ""))
    said: dict[str, Any] = {}
    for mark in told:
        said.update(mark)
    results = tuple(str(m["result"]) for m in told if "result" in m)
    if seen.error == TIMEOUT:
        return TimedOut(seen.target, f"npu:{len(results)}")
    exit_code = data.get("exit")
    inner, _ = exceptions(data.get("stderr", ""))
    available, count = said.get("available"), said.get("count")
    if not exit_code and not isinstance(available, bool):
        return Unparsed(seen.target, "no answer")
    short = bool(available) and isinstance(count, int) and len(results) < count
    crashed = bool(exit_code) or short
    return Known(
        ComputeRun(
            available if isinstance(available, bool) else None,
            count if isinstance(count, int) else None,
            results,
            (inner or f"exit {exit_code}") if crashed else "",
            max(0, -(exit_code or 0)),
            exit_code,
            tail(data.get("stderr", "")),
        ),
        seen.target,
    )


PROBE = Probe("probes", collect, after=("python",))
