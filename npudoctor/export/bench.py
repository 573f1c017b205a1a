"""Latency of one call: eager torch, compiled torch, onnxruntime; one run, one thread, ratios to eager."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.export.convert import rows, to_onnx
from npudoctor.export.source import Source
from npudoctor.export.verify import session

BATCHES = (1, 8, 64)
REPEATS, ROUNDS = 200, 5


@dataclass(frozen=True)
class Timing:
    """Microseconds per call at one batch; `note` says why there is none."""

    way: str
    batch: int
    us: float | None
    note: str = ""


def bench(
    source: Source, opset: int, exporter: str, repeats: int = REPEATS, compiled: bool = True
) -> list[Timing]:
    """Every way at every batch, interleaved so that a busy machine slows all alike."""
    found: list[Timing] = []
    for batch in BATCHES:
        ways, notes = _ways(source, batch, opset, exporter, compiled)
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, call in ways.items():
                samples[name].append(_time(call, repeats))
        found += [Timing(name, batch, 1e6 * statistics.median(values)) for name, values in samples.items()]
        found += [Timing(name, batch, None, note) for name, note in notes.items()]
    return found


def _ways(
    source: Source, batch: int, opset: int, exporter: str, compiled: bool
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:

    inputs = tuple(rows(t, batch) for t in source.inputs)
    ways: dict[str, Callable[[], Any]] = {"torch eager": _no_grad(lambda: source.module(*inputs))}
    notes: dict[str, str] = {}
    if compiled:
        try:
            ways["torch.compile"] = _compiled(source, inputs)
        except Exception as error:  # no C compiler, or a version that does not support this
            notes["torch.compile"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.onnx"
        to_onnx(source, path, batch=batch, dynamic=False, opset=opset, exporter=exporter)
        live = session(path)
    feed = {i.name: t.numpy() for i, t in zip(live.get_inputs(), inputs)}
    ways["onnxruntime"] = lambda: live.run(None, feed)
    return ways, notes


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
