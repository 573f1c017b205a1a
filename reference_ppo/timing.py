"""Where the time goes: seconds per stage, and copies from the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

STAGES = ("env", "inference", "transfer", "update")


class Stages:
    """Wall-clock seconds by stage: `with stages("env"): ...`.

    An accelerator works in the background: `inference` is the time to queue the work, and waiting for its
    result shows up in `transfer`, where the host blocks.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.device_to_host = 0
        self.started = perf_counter()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += perf_counter() - start

    def take(self) -> tuple[dict[str, float], int]:
        """Since the last call: seconds by stage, `other` for the rest and `total`; copies back."""
        now = perf_counter()
        out = dict(self.seconds)
        out["total"] = now - self.started
        out["other"] = max(0.0, out["total"] - sum(self.seconds.values()))
        copies, self.device_to_host = self.device_to_host, 0
        self.seconds, self.started = dict.fromkeys(STAGES, 0.0), now
        return out, copies
