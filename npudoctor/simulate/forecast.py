"""What would it cost on a device, and what would it cost without this or that sync?"""

from __future__ import annotations

from typing import Any

from npudoctor.simulate.costs import Costs
from npudoctor.simulate.model import Estimate, replay
from npudoctor.simulate.sites import describe

LINES = 8
BATCHES = (4, 16, 64)


def forecast(recorder: Any, costs: Costs) -> dict[str, Any]:
    """Estimate of the recorded window, its bound, and the gain of removing each of the worst syncs.

    Returns:
        `estimate` (see `Estimate.as_dict`), `what_if` (best first: the line, the estimated time
        without its syncs, the gain in percent), `batched` (environments in one batch -> estimated
        rollout time per environment step), `costs`, and `covered`: the share of events replayed.
    """
    recorder.fold()
    window = _steady(list(recorder.timeline()))
    base = replay(window, costs)
    options: list[dict[str, Any]] = []
    for key, positions in _worst(recorder, base).items():
        without = replay(window, costs, skip=positions.__contains__)
        gain = 100 * (base.total - without.total) / base.total if base.total else 0.0
        options.append({"path": key[0], "line": key[1], "total_us": round(without.total, 1),
                        "gain_percent": round(gain, 1)})
    options.sort(key=lambda option: -option["gain_percent"])
    everything = sum(recorder.kernels.values()) + sum(recorder.syncs.values())
    replayed = sum(1 for event in window if event[3] is None or event[0] == "sync")
    return {
        "simulated": True,
        "estimate": base.as_dict(),
        "what_if": [option for option in options if option["gain_percent"] > 0],
        "batched": _batched(base),
        "costs": costs.as_dict(),
        "covered": round(min(1.0, replayed / max(1, everything)), 3),
    }


def _steady(window: list[tuple]) -> list[tuple]:
    """The window from the first environment step on: start-up would distort the shares."""
    for place, event in enumerate(window):
        if event[0] == "mark" and event[2]:
            return window[place:]
    return window


def _worst(recorder: Any, base: Estimate) -> dict[tuple[str, int], set[Any]]:
    """Lines with syncs or blocking copies, the most expensive first, with their positions."""
    waiting = {event[2] for event in recorder.syncs}
    lines: dict[tuple[str, int], set[Any]] = {}
    spent: dict[tuple[str, int], float] = {}
    for where in waiting:
        if where is None:
            continue
        site = describe(recorder.codes[where[0]], where[1])
        key = (site.path, site.line)
        lines.setdefault(key, set()).add(where)
        spent[key] = spent.get(key, 0.0) + base.by_line.get(where, 0.0)
    chosen = sorted(lines, key=lambda key: -spent[key])[:LINES]
    return {key: lines[key] for key in chosen}


def _batched(base: Estimate) -> dict[str, float]:
    """Rollout time per environment step if N times as many environments shared each inference."""
    if not base.steps:
        return {}
    device_side = max(0.0, base.rollout - base.env)
    return {str(n): round((device_side / n + base.env) / base.steps, 1) for n in (1, *BATCHES)}
