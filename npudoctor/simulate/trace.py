"""The estimated timeline as a Chrome trace, for chrome://tracing or https://ui.perfetto.dev."""

from __future__ import annotations

import json
from typing import Any

from npudoctor.simulate.costs import Costs
from npudoctor.simulate.model import replay
from npudoctor.simulate.sites import describe

LIMIT = 100_000
TRACKS = {"host": 1, "device": 2}


def category(track: str, name: str) -> str:
    """What an event is, in the words that `npudoctor profile` knows (data/profile_events.tsv)."""
    if track == "device":
        return "kernel"
    if name == "environment step":
        return "user_annotation"
    return "simulated_launch" if name.startswith("launch ") else "simulated_sync"


def chrome_trace(recorder: Any, costs: Costs) -> str:
    """JSON text: the last events of the run on two tracks, microseconds of estimated time."""
    recorder.fold()
    rows: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "simulated NPU (estimated times)"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "host"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "npu:0 (simulated)"}},
    ]
    names: dict[Any, str] = {None: ""}

    def add(track: str, name: str, start: float, end: float, where: Any) -> None:
        if where not in names:
            site = describe(recorder.codes[where[0]], where[1])
            names[where] = f"{site.path}:{site.line}"
        rows.append(
            {
                "ph": "X",
                "cat": category(track, name),
                "name": name,
                "pid": 1,
                "tid": TRACKS[track],
                "ts": round(start, 3),
                "dur": round(end - start, 3),
                "args": {"line": names[where]},
            }
        )

    events = list(recorder.timeline())
    replay(events[-LIMIT:], costs, trace=add)
    return json.dumps(
        {
            "traceEvents": rows,
            "displayTimeUnit": "ms",
            "otherData": {"simulated": True, "costs": costs.as_dict()},
        },
        separators=(",", ":"),
    )
