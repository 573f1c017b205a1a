"""An estimated timeline: the recorded events replayed on a host and a device that run side by side.

The host launches kernels one after another; the device works through them in order; a sync makes
the host wait for the device's end. It ranks and forecasts; nothing here is a measurement of an NPU.
Events are the recorder's: `(operator, position, work)`, where work is the bytes written (>= 0) or
minus the floating point operations of a matrix product, and syncs, copies and environment steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from npudoctor.simulate.costs import Costs
from npudoctor.simulate.recorder import D2H, H2D, MARK, SYNC

TRAFFIC = 3  # a small elementwise kernel reads about two operands for each one it writes


@dataclass
class Estimate:
    """Estimated microseconds of a stretch of events.

    Attributes:
        total: wall time; launch: host time spent launching; wait: host time spent waiting in syncs;
        copy: host time in blocking copies; env: host time in environment steps (measured here);
        busy: device time; idle: device time without work.
        steps: environment steps in the stretch; bound: what limits it.
    """

    total: float = 0.0
    launch: float = 0.0
    wait: float = 0.0
    copy: float = 0.0
    env: float = 0.0
    busy: float = 0.0
    steps: int = 0
    rollout: float = 0.0
    by_line: dict[Any, float] = field(default_factory=dict)

    @property
    def bound(self) -> str:
        """`launch`, `sync`, `compute` or `env`: the largest share of the wall time.

        Waiting counts as compute as far as the device had work to do meanwhile.
        """
        shares = {"launch": self.launch, "sync": self.wait + self.copy, "env": self.env}
        name, most = max(shares.items(), key=lambda item: item[1])
        return "compute" if self.busy > 0.8 * self.total and self.busy > most else name

    @property
    def per_step(self) -> float | None:
        """Microseconds per environment step."""
        return self.total / self.steps if self.steps else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, microseconds rounded to a tenth."""
        names = ("total", "launch", "wait", "copy", "env", "busy")
        plain: dict[str, Any] = {f"{name}_us": round(getattr(self, name), 1) for name in names}
        plain.update(env_steps=self.steps, bound=self.bound, simulated=True)
        if self.steps:
            plain["per_env_step_us"] = round(self.total / self.steps, 1)
        return plain


def device_time(work: float, costs: Costs) -> float:
    """Microseconds that one kernel keeps the device busy."""
    if work < 0:
        return max(costs.kernel, -work / costs.tflops / 1e6)
    return max(costs.kernel, TRAFFIC * work / costs.memory_gb_s / 1e3)


def replay(
    events: Iterable[tuple], costs: Costs, skip: Callable[[Any], bool] | None = None,
    trace: Callable[[str, str, float, float, Any], None] | None = None,
) -> Estimate:
    """Estimate the time of `events`.

    Args:
        skip: positions whose syncs are taken as removed (their copies as not blocking).
        trace: called with (track, name, start, end, position) for each stretch of time.
    """
    result = Estimate()
    host = device = 0.0
    last_mark = 0.0
    for event in events:
        begun = host
        kind = event[0]
        if kind is SYNC:
            where = event[2]
            if event[1] in ("h2d", "d2h") or (skip is not None and skip(where)):
                continue  # a blocking copy's wait is in the copy itself
            host = max(host, device) + costs.wait
            result.wait += host - begun
            _charge(result, where, host - begun)
            if trace is not None:
                trace("host", f"sync {event[1]}", begun, host, where)
        elif kind is H2D or kind is D2H:
            host, device = _copy(event, costs, host, device, result, skip)
            if trace is not None:
                trace("host", kind, begun, host, event[2])
        elif kind is MARK:
            seconds = event[3]
            host += seconds * 1e6
            result.env += seconds * 1e6
            result.steps += event[2]
            if event[1] == "rollout":
                result.rollout += host - last_mark
            last_mark = host
            if trace is not None and seconds:
                trace("host", "environment step", begun, host, None)
        else:
            host += costs.launch
            start = max(host, device)
            spent = device_time(event[2], costs)
            device = start + spent
            result.busy += spent
            result.launch += costs.launch
            _charge(result, event[1], costs.launch)
            if trace is not None:
                trace("host", f"launch {kind}", begun, host, event[1])
                trace("device", kind, start, device, event[1])
    result.total = max(host, device)
    return result


def _copy(
    event: tuple, costs: Costs, host: float, device: float, result: Estimate, skip: Any
) -> tuple[float, float]:
    _, nbytes, where, blocking = event
    moving = nbytes / costs.link_gb_s / 1e3
    if not blocking or (skip is not None and skip(where)):
        result.launch += costs.launch
        return host + costs.launch, max(device, host + costs.launch) + moving
    end = max(host, device) + costs.copy + moving
    result.copy += end - host
    _charge(result, where, end - host)
    return end, end


def _charge(result: Estimate, where: Any, spent: float) -> None:
    result.by_line[where] = result.by_line.get(where, 0.0) + spent
