"""Read a large trace: time and peak memory of `npudoctor profile`, against json.load on the same file.

    python benchmarks/profile_traces.py --megabytes 1000

Writes a trace in torch.profiler's form (kernels, launches, operators, Python frames with
stacks), reads it in a child process each, and prints seconds, MB/s and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = """
import sys, resource, time
from pathlib import Path
t = time.perf_counter()
from npudoctor.profile.readers import read
from npudoctor.profile.analyse import analyse
from npudoctor.profile.verdict import judge
trace = read(Path(sys.argv[1]))
report = judge(analyse(trace))
print(len(trace.columns), time.perf_counter() - t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
LOAD = """
import sys, json, resource, time
t = time.perf_counter()
data = json.load(open(sys.argv[1]))
print(len(data["traceEvents"]), time.perf_counter() - t,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write_trace(path: Path, megabytes: int) -> None:
    """One step after the other until the file is large enough."""
    step = 0
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        while out.tell() < megabytes * 1_000_000:
            for event in _step(step * 100.0):
                out.write(json.dumps(event, indent=1) + ",\n")
            step += 1
        out.write(json.dumps(_event("cpu_op", "aten::add", 1, 1, step * 100.0, 1.0)) + "\n]}\n")


def _event(cat: str, name: str, pid: int, tid: int, ts: float, dur: float) -> dict:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"External id": 7, "Record function id": 0, "Ev Idx": 11},
    }


def _step(t: float) -> list[dict]:
    return [
        _event("python_function", "train.py(40): update", 1, 1, t, 99.0),
        _event("python_function", "torch/nn/modules/linear.py(114): forward", 1, 1, t + 1, 20.0),
        _event("cpu_op", "aten::linear", 1, 1, t + 2, 18.0),
        _event("cpu_op", "aten::addmm", 1, 1, t + 3, 15.0),
        _event("cuda_runtime", "cudaLaunchKernel", 1, 1, t + 10, 5.0),
        _event("kernel", "ampere_sgemm_128x64_tn", 0, 7, t + 20, 9.0),
        _event("cpu_op", "aten::item", 1, 1, t + 30, 40.0),
        _event("cuda_runtime", "cudaStreamSynchronize", 1, 1, t + 31, 38.0),
        _event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, t + 40, 2.0),
    ]


def measure(code: str, path: Path) -> tuple[int, float, float]:
    """(events, seconds, peak MB) of a child process."""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    events, seconds, peak = done.stdout.split()
    return int(events), float(seconds), float(peak)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument(
        "--no-baseline", action="store_true", help="skip json.load (it needs many times the memory)"
    )
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        started = time.perf_counter()
        write_trace(path, options.megabytes)
        size = os.path.getsize(path) / 1e6
        print(f"trace: {size:.0f} MB, written in {time.perf_counter() - started:.0f} s")
        events, seconds, peak = measure(READ, path)
        print(
            f"npudoctor profile: {events} intervals, {seconds:.1f} s, {size / seconds:.0f} MB/s, "
            f"peak {peak:.0f} MB"
        )
        if not options.no_baseline:
            _, base_s, base_peak = measure(LOAD, path)
            print(f"json.load:         {base_s:.1f} s, peak {base_peak:.0f} MB")
            print(f"ratio: {seconds / base_s:.2f}x the time, {peak / base_peak:.2f}x the memory")


if __name__ == "__main__":
    main()
