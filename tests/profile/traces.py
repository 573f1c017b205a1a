"""Builds traces in the public forms: what torch.profiler and torch_npu.profiler write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def ascend_trace(events: list[Event]) -> list[Event]:
    """trace_view.json of torch_npu: a top-level array, layers named by process, `ts` as text."""
    names = {1: "Python", 2: "CANN", 3: "Ascend Hardware", 4: "Overlap Analysis"}
    head = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in names.items()
    ]
    return head + [{**event, "ts": f"{event['ts']:.3f}"} for event in events]


def host_op(ts: float, dur: float, name: str, stack: str = "") -> Event:
    args = {"Call stack": stack} if stack else {}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 10, "ts": ts, "dur": dur, "args": args}


def frame(ts: float, dur: float, name: str) -> Event:
    return {
        "ph": "X",
        "cat": "python_function",
        "name": name,
        "pid": 1,
        "tid": 10,
        "ts": ts,
        "dur": dur,
        "args": {},
    }


def runtime(ts: float, dur: float, name: str) -> Event:
    return {"ph": "X", "name": name, "pid": 2, "tid": 10, "ts": ts, "dur": dur, "args": {}}


def kernel(ts: float, dur: float, name: str) -> Event:
    return {
        "ph": "X",
        "name": name,
        "pid": 3,
        "tid": 2,
        "ts": ts,
        "dur": dur,
        "args": {"Task Type": "AI_CORE"},
    }


def launch_bound(steps: int = 50) -> list[Event]:
    """Each 4 us kernel waits 36 us for its launch; nothing else happens."""
    events = []
    for i in range(steps):
        t = i * 40.0
        events += [
            host_op(t, 30, "aten::add", "train.py(12): update;train.py(40): main"),
            runtime(t + 20, 8, "AscendCL@aclnnAdd"),
            kernel(t + 32, 4, "aclnnAdd_Add_Add"),
        ]
    return events


def sync_bound(steps: int = 50) -> list[Event]:
    """A kernel, an `.item()` that waits for it, then 60 us until the next launch."""
    events = []
    for i in range(steps):
        t = i * 100.0
        events += [
            host_op(t, 10, "aten::mul", "train.py(20): update"),
            runtime(t + 5, 3, "AscendCL@aclnnMul"),
            kernel(t + 12, 25, "aclnnMul_Mul_Mul"),
            host_op(t + 12, 30, "aten::item", "train.py(21): update;train.py(40): main"),
            runtime(t + 14, 27, "AscendCL@aclrtSynchronizeStreamWithTimeout"),
        ]
    return events


def env_bound(steps: int = 50) -> list[Event]:
    """A kernel, then 80 us inside gymnasium's step."""
    events = []
    for i in range(steps):
        t = i * 110.0
        events += [
            host_op(t, 6, "aten::addmm", "act.py(7): act"),
            runtime(t + 2, 3, "AscendCL@aclnnAddmm"),
            kernel(t + 6, 20, "aclnnAddmm_MatMul"),
            frame(t + 27, 80, "gymnasium/vector/sync_vector_env.py(210): step"),
        ]
    return events


def transfer_bound(steps: int = 50) -> list[Event]:
    """A 5 us kernel and a 60 us copy to the device per step."""
    events = []
    for i in range(steps):
        t = i * 80.0
        events += [
            host_op(t, 66, "aten::copy_", "rollout.py(33): store"),
            kernel(t + 2, 60, "MEMCPY_ASYNC"),
            host_op(t + 67, 5, "aten::add", "rollout.py(34): store"),
            kernel(t + 72, 5, "aclnnAdd_Add_Add"),
        ]
    return events


def compute_bound(steps: int = 50) -> list[Event]:
    """Kernels back to back, launched far ahead."""
    events = []
    for i in range(steps):
        events += [
            host_op(i * 10.0, 8, "aten::mm", "model.py(5): forward"),
            kernel(20 + i * 200.0, 199, "aclnnMatmul_MatMulV3"),
        ]
    return events


def write(path: Path, events: Any) -> Path:
    path.write_text(json.dumps(events), encoding="utf-8")
    return path
