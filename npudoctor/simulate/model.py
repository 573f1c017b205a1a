"""An estimated timeline: the recorded events replayed on a host and a device that run side by side.

The host launches kernels one after another; the device works through them in order; a sync makes
the host wait for the device's end. It ranks and forecasts; nothing here is a measurement of an NPU.
Events are the recorder's: `(operator, position, work)`, where work is the bytes written (>= 0) or
minus the floating point operations of a matrix product, and syncs, copies and environment steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

from npudoctor.simulate.costs import Costs
from npudoctor.simulate.recorder import D2H, H2D, MARK, SYNC

Skip = Optional[Callable[[Any], bool]]
Draw = Optional[Callable[[str, str, float, float, Any], None]]

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
    events: Iterable[tuple], costs: Costs, skip: Skip = None, trace: Draw = None,
) -> Estimate:
    """Estimate the time of `events`.

    Args:
        skip: positions whose syncs are taken as removed (their copies as not blocking).
        trace: called with (track, name, start, end, position) for each stretch of time.
    """
    clock = _Clock(costs, skip, trace)
    for event in events:
        kind = event[0]
        if kind is SYNC:
            clock.sync(event[1], event[2])
        elif kind is H2D or kind is D2H:
            clock.copy(*event)
        elif kind is MARK:
            clock.mark(event[1], event[2], event[3])
        else:
            clock.launch(kind, event[1], event[2])
    clock.result.total = max(clock.host, clock.device)
    return clock.result


class _Clock:
    """Time of the host and of the device, microseconds, moved on by one event after the other."""

    def __init__(self, costs: Costs, skip: Skip, trace: Draw) -> None:
        self._costs, self._skip, self._trace = costs, skip, trace
        self.result = Estimate()
        self.host = self.device = 0.0
        self._marked = 0.0

    def sync(self, cause: str, where: Any) -> None:
        """The host waits for the device's end; a blocking copy's wait is in the copy itself."""
        if cause in ("h2d", "d2h") or (self._skip is not None and self._skip(where)):
            return
        begun = self.host
        self.host = max(begun, self.device) + self._costs.wait
        self.result.wait += self.host - begun
        self._charge(where, self.host - begun)
        if self._trace is not None:
            self._trace("host", f"sync {cause}", begun, self.host, where)

    def copy(self, direction: str, nbytes: int, where: Any, blocking: bool) -> None:
        """Bytes over the link: behind the device's work, and before the host's when it blocks."""
        begun, moving = self.host, nbytes / self._costs.link_gb_s / 1e3
        if not blocking or (self._skip is not None and self._skip(where)):
            self.host += self._costs.launch
            self.result.launch += self._costs.launch
            self.device = max(self.device, self.host) + moving
        else:
            self.host = self.device = max(begun, self.device) + self._costs.copy + moving
            self.result.copy += self.host - begun
            self._charge(where, self.host - begun)
        if self._trace is not None:
            self._trace("host", direction, begun, self.host, where)

    def mark(self, phase: str, steps: int, seconds: float) -> None:
        """The end of an environment step (or of another phase), measured here."""
        begun = self.host
        self.host += seconds * 1e6
        self.result.env += seconds * 1e6
        self.result.steps += steps
        if phase == "rollout":
            self.result.rollout += self.host - self._marked
        self._marked = self.host
        if seconds and self._trace is not None:
            self._trace("host", "environment step", begun, self.host, None)

    def launch(self, name: str, where: Any, work: float) -> None:
        """One kernel: enqueued by the host, done by the device when its turn comes."""
        begun = self.host
        self.host += self._costs.launch
        start = max(self.host, self.device)
        spent = device_time(work, self._costs)
        self.device = start + spent
        self.result.busy += spent
        self.result.launch += self._costs.launch
        self._charge(where, self._costs.launch)
        if self._trace is not None:
            self._trace("host", f"launch {name}", begun, self.host, where)
            self._trace("device", name, start, self.device, where)

    def _charge(self, where: Any, spent: float) -> None:
        self.result.by_line[where] = self.result.by_line.get(where, 0.0) + spent
