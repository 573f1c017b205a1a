"""From a trace to numbers: busy and idle time, phases, gaps and their causes, top operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from npudoctor.profile import classify, intervals
from npudoctor.profile.host import Host, Where
from npudoctor.profile.model import ON_DEVICE, Columns, Kind, Trace

PHASE_ORDER = ("env", "transfer", "inference", "update", "other")
GAP_EDGES_US = (0.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0, 1000.0, 10000.0)
TOP = 10


@dataclass(frozen=True)
class Gap:
    """A place in the source after which the device stood idle, summed over all its gaps.

    Attributes:
        cause: `sync`, `env`, `transfer` or `launch`.
        where: host call and source line.
        count: number of gaps.
        total_us, longest_us: idle microseconds.
    """

    cause: str
    where: Where
    count: int
    total_us: float
    longest_us: float


@dataclass(frozen=True)
class Operator:
    """One operator or kernel name: calls, summed and mean microseconds."""

    name: str
    count: int
    total_us: float
    mean_us: float
    aicpu: bool


@dataclass(frozen=True)
class SyncPoint:
    """One place that makes the host wait for the device: calls and waiting time."""

    where: Where
    count: int
    total_us: float


@dataclass(frozen=True)
class Step:
    """One step mark of the profiler: its length and how much of it the device was busy."""

    name: str
    window_us: float
    busy_us: float
    overlap_us: float


@dataclass(frozen=True)
class Analysis:
    """What a trace says. Times in microseconds; shares are of `window_us`.

    Attributes:
        has_device: False for a trace of the host alone; device numbers are then zero.
        steps: the profiler's step marks (empty: the script made none).
        busy_us, copy_us, communication_us, idle_us: the device's timeline.
        overlap_us: device busy while the host was busy with the environment.
        idle_by_cause: idle time split into env, transfer, sync, launch.
        phases: host time per phase of the loop.
        env_typical_us: time of the environment without its outliers: no step counts for more than three
            times the median, so that one preempted step does not pass for a slow environment.
        phase_busy: device busy time inside each phase.
        gap_histogram: (lower edge us, count, summed us) per bin.
        copies, copied_bytes: copies on the device's timeline, and their bytes where known.
        launches: kernels (with a device) or operators dispatched by the host.
        launch_rate: launches per second of the window.
        median_op_us: median duration of those.
        work_us: what their durations exceed the median by, summed; each name counts with its own
            median, so that one preempted call does not pass for computation.
        cut: the trace's file ended in the middle of its events.
    """

    source: str
    form: str
    has_device: bool
    window_us: float
    steps: tuple[Step, ...]
    busy_us: float
    copy_us: float
    communication_us: float
    idle_us: float
    overlap_us: float
    idle_by_cause: Mapping[str, float]
    phases: Mapping[str, float]
    env_typical_us: float
    phase_busy: Mapping[str, float]
    gap_histogram: tuple[tuple[float, int, float], ...]
    gaps: tuple[Gap, ...]
    by_time: tuple[Operator, ...]
    by_count: tuple[Operator, ...]
    syncs: tuple[SyncPoint, ...]
    sync_count: int
    copies: int
    copied_bytes: float
    aicpu: tuple[Operator, ...]
    launches: int
    launch_rate: float
    median_op_us: float
    work_us: float
    skipped: int
    cut: bool

    def share(self, microseconds: float) -> float:
        """Part of the window, 0 to 1."""
        return microseconds / self.window_us if self.window_us else 0.0


def analyse(trace: Trace) -> Analysis:
    """Analyse one trace. Pure: the same trace gives the same analysis."""
    begin, stop, marks = _window(trace)
    columns = trace.columns.take((trace.columns.end > begin) & (trace.columns.start < stop))
    host = Host(trace, columns)
    device = columns.of(*ON_DEVICE)
    busy = intervals.clip(intervals.union(device.start, device.end), begin, stop)
    idle = intervals.complement(busy, begin, stop) if trace.has_device else intervals.EMPTY
    phases = _phases(trace, columns, begin, stop)
    by_cause, gaps = _gaps(idle, host, phases)
    launched = device.of(Kind.DEVICE) if trace.has_device else host.kernels
    window = stop - begin
    return Analysis(
        source=trace.source,
        form=trace.form,
        has_device=trace.has_device,
        window_us=window,
        steps=_steps(trace, marks, busy, phases["env"]),
        busy_us=intervals.total(busy),
        copy_us=_busy_of(device, Kind.COPY, begin, stop),
        communication_us=_busy_of(device, Kind.COMMUNICATION, begin, stop),
        idle_us=intervals.total(idle),
        overlap_us=intervals.total(intervals.intersect(busy, phases["env"])),
        idle_by_cause=by_cause,
        phases={name: intervals.total(part) for name, part in phases.items()},
        env_typical_us=_typical(phases["env"]),
        phase_busy={n: intervals.total(intervals.intersect(part, busy)) for n, part in phases.items()},
        gap_histogram=_histogram(idle),
        gaps=gaps,
        syncs=_syncs(host),
        sync_count=len(host.syncs),
        copies=len(device.of(Kind.COPY)),
        copied_bytes=trace.copied_bytes,
        launch_rate=len(launched) / window * 1e6 if window else 0.0,
        **_launches(trace, launched),
        skipped=trace.skipped,
        cut=trace.cut,
    )


def _launches(trace: Trace, launched: Columns) -> dict[str, Any]:
    """The fields that only depend on what was launched: top operators, durations, what ran on the AI CPU."""
    operators = _operators(trace, launched)
    durations = launched.end - launched.start
    return {
        "by_time": tuple(sorted(operators, key=lambda o: (-o.total_us, o.name))[:TOP]),
        "by_count": tuple(sorted(operators, key=lambda o: (-o.count, o.name))[:TOP]),
        "aicpu": tuple(o for o in operators if o.aicpu),
        "launches": len(launched),
        "median_op_us": float(np.median(durations)) if len(durations) else 0.0,
        "work_us": _work(launched),
    }


def _window(trace: Trace) -> tuple[float, float, Columns]:
    """Span of the profiler's step marks where there are any, else of all events."""
    marks = [i for i, name in enumerate(trace.names) if classify.is_step(name)]
    steps = trace.columns.take(
        np.isin(trace.columns.name, marks) & (trace.columns.kind == int(Kind.ANNOTATION))
    )
    inside = steps if len(steps) else trace.columns
    return float(inside.start.min()), float(inside.end.max()), steps


def _steps(trace: Trace, marks: Columns, busy: np.ndarray, env: np.ndarray) -> tuple[Step, ...]:
    spans = np.stack((marks.start, marks.end), axis=1)
    inside = intervals.overlap_of_each(spans, busy)
    both = intervals.overlap_of_each(spans, intervals.intersect(busy, env))
    return tuple(
        Step(trace.names[int(n)], float(e - s), float(b), float(o))
        for n, s, e, b, o in zip(marks.name, marks.start, marks.end, inside, both)
    )


def _phases(trace: Trace, columns: Columns, begin: float, stop: float) -> dict[str, np.ndarray]:
    """Disjoint time per phase: an environment step inside anything is environment, and so on down."""
    marked: dict[str, np.ndarray] = {}
    candidates = columns.of(Kind.PYTHON, Kind.ANNOTATION)
    kinds, names = candidates.kind, candidates.name
    phase_of_pair = {
        (k, n): classify.phase_of(Kind(k), trace.names[n])
        for k, n in set(zip(kinds.tolist(), names.tolist()))
    }
    label = np.array([phase_of_pair[pair] or "" for pair in zip(kinds.tolist(), names.tolist())], dtype="U12")
    taken = intervals.EMPTY
    for phase in PHASE_ORDER[:-1]:
        chosen = candidates.take(label == phase) if len(label) else candidates
        span = intervals.clip(intervals.union(chosen.start, chosen.end), begin, stop)
        marked[phase] = intervals.subtract(span, taken)
        both = np.concatenate((taken, marked[phase]))
        taken = intervals.union(both[:, 0], both[:, 1])
    marked["other"] = intervals.complement(taken, begin, stop)
    return marked


def _gaps(
    idle: np.ndarray, host: Host, phases: Mapping[str, np.ndarray]
) -> tuple[dict[str, float], tuple[Gap, ...]]:
    """Split idle time by cause and find, for each gap, the line that made it."""
    by_cause = {"env": 0.0, "transfer": 0.0, "sync": 0.0, "launch": 0.0}
    if not len(idle):
        return by_cause, ()
    lengths = idle[:, 1] - idle[:, 0]
    env = intervals.overlap_of_each(idle, phases["env"])
    transfer = np.minimum(intervals.overlap_of_each(idle, host.transfer_time), lengths - env)
    rest = lengths - env - transfer
    sync_index = host.sync_before(idle)
    by_cause["env"] = float(env.sum())
    by_cause["transfer"] = float(transfer.sum())
    by_cause["sync"] = float(rest[sync_index >= 0].sum())
    by_cause["launch"] = float(rest[sync_index < 0].sum())
    found: dict[tuple[str, Where], list[float]] = {}
    for i in np.argsort(-lengths)[:20000]:  # the longest ones name the lines; the rest is noise
        if sync_index[i] >= 0 and rest[i] >= max(env[i], transfer[i]):
            cause, where = "sync", host.where_sync(int(sync_index[i]))
        elif env[i] >= max(transfer[i], rest[i]):
            cause, where = "env", host.where_at(_middle(idle[i], phases["env"]))
        elif transfer[i] >= rest[i]:
            cause, where = "transfer", host.where_at(_middle(idle[i], host.transfer_time))
        else:
            cause, where = "launch", host.where_at(float(idle[i].mean()))
        found.setdefault((cause, where), []).append(float(lengths[i]))
    gaps = [Gap(c, w, len(v), sum(v), max(v)) for (c, w), v in found.items()]
    return by_cause, tuple(sorted(gaps, key=lambda g: -g.total_us)[:TOP])


def _middle(gap: np.ndarray, covered: np.ndarray) -> float:
    """The middle of what of the gap is covered, so that the host is asked at the right moment."""
    part = intervals.clip(covered, gap[0], gap[1])
    longest = part[np.argmax(part[:, 1] - part[:, 0])] if len(part) else gap
    return float(longest.mean())


def _histogram(idle: np.ndarray) -> tuple[tuple[float, int, float], ...]:
    lengths = idle[:, 1] - idle[:, 0] if len(idle) else np.zeros(0)
    bins = np.digitize(lengths, GAP_EDGES_US) - 1
    return tuple(
        (edge, int((bins == i).sum()), float(lengths[bins == i].sum())) for i, edge in enumerate(GAP_EDGES_US)
    )


def _operators(trace: Trace, launched: Columns) -> list[Operator]:
    duration = launched.end - launched.start
    names, inverse = np.unique(launched.name, return_inverse=True)
    counts = np.bincount(inverse, minlength=len(names))
    totals = np.bincount(inverse, weights=duration, minlength=len(names))
    return [
        Operator(trace.names[n], int(c), float(t), float(t / c), int(n) in trace.aicpu)
        for n, c, t in zip(names, counts, totals)
    ]


def _typical(part: np.ndarray) -> float:
    if not len(part):
        return 0.0
    length = part[:, 1] - part[:, 0]
    return float(np.minimum(length, 3.0 * np.median(length)).sum())


def _work(launched: Columns) -> float:
    if not len(launched):
        return 0.0
    duration = launched.end - launched.start
    floor = float(np.median(duration))
    order = np.argsort(launched.name, kind="stable")
    _, first = np.unique(launched.name[order], return_index=True)
    groups = np.split(duration[order], first[1:])
    return float(sum(len(group) * max(float(np.median(group)) - floor, 0.0) for group in groups))


def _busy_of(device: Columns, kind: Kind, begin: float, stop: float) -> float:
    part = device.of(kind)
    return intervals.total(intervals.clip(intervals.union(part.start, part.end), begin, stop))


def _syncs(host: Host) -> tuple[SyncPoint, ...]:
    found: dict[Where, list[float]] = {}
    for i in range(len(host.syncs)):
        length = float(host.syncs.end[i] - host.syncs.start[i])
        found.setdefault(host.where_sync(i), []).append(length)
    points = [SyncPoint(w, len(v), sum(v)) for w, v in found.items()]
    return tuple(sorted(points, key=lambda p: (-p.count, -p.total_us))[:TOP])
