"""What a simulated NPU costs: CleanRL-style PPO on the plain CPU against the same script on the simulation.

    python benchmarks/simulate.py [--script FILE --script-args "..."] [--rounds N]

Without `--script` a PPO of CleanRL's shape runs on a synthetic environment. A script that is given
chooses its device from the environment variable BENCH_DEVICE (`cpu` or `npu`). Each round runs both
as fresh processes, one thread each; the ratio of the best CPU times (user + system, start-up
subtracted) is printed, and the ratio of peak memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "benchmarks" / "programs" / "cleanrl_shaped_ppo.py"


def run(device: str, script: Path, arguments: list[str], empty: bool = False) -> tuple[float, float]:
    """CPU seconds and peak memory (MiB) of one process."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "BENCH_DEVICE": device, "BENCH_EMPTY": "1" if empty else "",
           "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), *arguments]
    if device == "npu":
        command = [sys.executable, "-m", "npudoctor", "simulate", "-q", str(script), *arguments]
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} failed with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, default=PROGRAM)
    parser.add_argument("--script-args", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    arguments = shlex.split(options.script_args)
    best: dict[str, float] = {}
    peak: dict[str, float] = {}
    for _ in range(options.rounds):
        for device in ("cpu", "npu"):
            start, base = run(device, options.script, arguments, empty=True)
            full, memory = run(device, options.script, arguments)
            best[device] = min(best.get(device, 1e9), full - start)
            peak[device] = min(peak.get(device, 1e9), memory)
            peak[device + " base"] = min(peak.get(device + " base", 1e9), base)
    ratio = best["npu"] / best["cpu"]
    print(f"cpu {best['cpu']:.2f} s, simulated npu {best['npu']:.2f} s: {ratio:.2f} times")
    grown = {device: peak[device] - peak[f"{device} base"] for device in ("cpu", "npu")}
    print(f"memory over start-up: cpu {grown['cpu']:.1f} MiB, simulated npu {grown['npu']:.1f} MiB; "
          f"start-up {peak['cpu base']:.0f} and {peak['npu base']:.0f} MiB")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
