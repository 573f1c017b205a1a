"""Latency of one call: eager and compiled torch, onnxruntime, and the OM; one run, one thread."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.core.blocks import Cell, Phrase
from npudoctor.core.errors import first_line
from npudoctor.core.streams import stdout_aside
from npudoctor.core.text import Text
from npudoctor.export import atc, om
from npudoctor.export.convert import rows, to_onnx
from npudoctor.export.graph import read
from npudoctor.export.source import Source
from npudoctor.export.verify import session

BATCHES = (1, 8, 64)
REPEATS, ROUNDS = 200, 5

_NO_SOC = Text("not converted: the chip is unknown, or --no-atc", "未转换：芯片未知，或指定了 --no-atc")
_NO_RUNTIME = Text("there is no ais_bench here", "此处没有 ais_bench")
_NO_ATC = Text("there is no atc here", "此处没有 atc")
_ATC_FAILED = Text("atc failed: {last}", "atc 失败：{last}")


@dataclass(frozen=True)
class Timing:
    """Microseconds per call at one batch; `note` says why there is none."""

    way: str
    batch: int
    us: float | None
    note: Cell = ""


def bench(
    source: Source,
    opset: int,
    exporter: str,
    repeats: int = REPEATS,
    compiled: bool = True,
    soc: str | None = None,
) -> list[Timing]:
    """Every way at every batch, interleaved so that a busy machine slows all alike.

    Args:
        soc: soc_version to convert an OM for; None leaves the OM out.
    """
    with stdout_aside():  # the ACL runtime speaks on standard output
        return _bench(source, opset, exporter, repeats, compiled, soc)


def _bench(
    source: Source, opset: int, exporter: str, repeats: int, compiled: bool, soc: str | None
) -> list[Timing]:
    found: list[Timing] = []
    for batch in BATCHES:
        ways, notes = _ways(source, batch, opset, exporter, compiled, soc)
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, call in ways.items():
                samples[name].append(_time(call, repeats))
        found += [Timing(name, batch, 1e6 * statistics.median(values)) for name, values in samples.items()]
        found += [Timing(name, batch, None, note) for name, note in notes.items()]
    return found


def _ways(
    source: Source, batch: int, opset: int, exporter: str, compiled: bool, soc: str | None
) -> tuple[dict[str, Callable[[], Any]], dict[str, Cell]]:
    """Calls by name, and why the others cannot be called."""
    inputs = tuple(rows(t, batch) for t in source.inputs)
    ways: dict[str, Callable[[], Any]] = {"torch eager": _no_grad(lambda: source.module(*inputs))}
    notes: dict[str, Cell] = {}
    if compiled:
        try:
            ways["torch.compile"] = _compiled(source, inputs)
        except Exception as error:  # no C compiler, or a version that does not support this
            notes["torch.compile"] = first_line(error)[:120]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.onnx"
        to_onnx(source, path, batch=batch, dynamic=False, opset=opset, exporter=exporter)
        live = session(path)
        try:
            ways["OM"] = _om(path, batch, [t.numpy() for t in inputs], soc)
        except _Unmeasured as reason:
            notes["OM"] = reason.why
    feed = {i.name: t.numpy() for i, t in zip(live.get_inputs(), inputs)}
    ways["onnxruntime"] = lambda: live.run(None, feed)
    return ways, notes


class _Unmeasured(Exception):
    """Why there is no OM to measure."""

    def __init__(self, why: Cell) -> None:
        super().__init__(why)
        self.why = why


def _om(path: Path, batch: int, arrays: list[Any], soc: str | None) -> Callable[[], Any]:
    """The OM of `path` as a call; raises `_Unmeasured` where it cannot be made or run."""
    if soc is None:
        raise _Unmeasured(_NO_SOC)
    if not om.available():
        raise _Unmeasured(_NO_RUNTIME)
    done = atc.run(atc.command(path, read(path), soc), path)
    if done is None:
        raise _Unmeasured(_NO_ATC)
    if done.om is None:
        raise _Unmeasured(Phrase(_ATC_FAILED, {"last": done.log[-1] if done.log else done.code}))
    try:
        call = om.caller(done.om, (batch,), dynamic=False)
        call(*arrays)
    except Exception as error:  # the runtime has its own kinds
        raise _Unmeasured(first_line(error)[:120]) from None
    return lambda: call(*arrays)


def _compiled(source: Source, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    import torch

    module = torch.compile(source.module, dynamic=False)
    call = _no_grad(lambda: module(*inputs))
    call()
    return call


def _no_grad(call: Callable[[], Any]) -> Callable[[], Any]:
    import torch

    def inner() -> Any:
        with torch.inference_mode():
            return call()

    return inner


def _time(call: Callable[[], Any], repeats: int) -> float:
    """Seconds per call, after a short warm-up."""
    for _ in range(max(1, repeats // 10)):
        call()
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - started) / repeats
