"""Streams and events: the simulated device works in order, so waiting is a no-op that is counted."""

from __future__ import annotations

import threading
import time
from typing import Any

from npudoctor.simulate import devices, live

_local = threading.local()


def wait(cause: str) -> None:
    """Count one wait of the host for the device."""
    if live.recorder is not None:
        live.recorder.sync(cause, 4)


class Stream:
    """A queue of the simulated device. All queues run in program order."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device_index = devices.resolve(device)
        self.priority = priority
        self.npu_stream = id(self)

    @property
    def device(self) -> Any:
        import torch

        return torch.device("npu", self.device_index)

    def synchronize(self) -> None:
        wait("synchronize")

    def query(self) -> bool:
        return True

    def wait_event(self, event: Event) -> None:
        """Later work waits for `event`: already so, in order."""

    def wait_stream(self, stream: Stream) -> None:
        """Later work waits for `stream`: already so, in order."""

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._before = current(self.device_index)
        choose(self)
        return self

    def __exit__(self, *_: object) -> None:
        choose(self._before)

    def __repr__(self) -> str:
        return f"<torch.npu.Stream device=npu:{self.device_index} (simulated)>"


class Event:
    """A mark in a stream. Times between two are host times of the simulation, not the device's."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
                 external: bool = False) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Later work of `stream` waits for this event: already so, in order."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        wait("synchronize")

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds of host time from this event to `end`."""
        if self._time is None or end._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end._time - self._time) * 1000

    def __repr__(self) -> str:
        return "<torch.npu.Event (simulated)>"


def _table() -> dict[int, Stream]:
    table = getattr(_local, "streams", None)
    if table is None:
        table = _local.streams = {}
    return table


_defaults: dict[int, Stream] = {}


def default(device: Any = None) -> Stream:
    """The stream that work goes to unless another is chosen."""
    index = devices.resolve(device)
    return _defaults.setdefault(index, Stream(index))


def current(device: Any = None) -> Stream:
    """The calling thread's stream on `device`."""
    index = devices.resolve(device)
    return _table().get(index) or default(index)


def choose(stream: Stream | None) -> None:
    """Make `stream` the calling thread's current one."""
    if stream is not None:
        _table()[stream.device_index] = stream


class StreamContext:
    """`with torch.npu.stream(s):`; None leaves everything as it is."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[Any] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before.append((devices.current(), current(self.stream.device_index)))
            devices.choose(self.stream.device_index)
            choose(self.stream)

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            index, stream = self._before.pop()
            choose(stream)
            devices.choose(index)
