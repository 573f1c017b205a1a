"""How long `npudoctor check` takes: `python benchmarks/check.py [--runs 7]`.

Medians of several runs against two baselines of the same run: an interpreter that does
nothing, and one that only imports click and rich.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "fixtures" / "machines" / "910b2c-16npu-host-ok.json"
CASES = {
    "python -c pass": ["-c", "pass"],
    "import click, rich.console": ["-c", "import click, rich.console"],
    "check --replay (16 chips)": ["-m", "npudoctor", "check", "--replay", str(BUNDLE)],
    "check --replay --json": ["-m", "npudoctor", "check", "--replay", str(BUNDLE), "--json"],
    "check --no-probes": ["-m", "npudoctor", "check", "--no-probes"],
    "check": ["-m", "npudoctor", "check"],
}


def median_s(arguments: list[str], runs: int) -> float:
    """Median wall time of one command in seconds; the first run only warms caches."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    bare = median_s(CASES["python -c pass"], runs)
    print(f"{'command':28} {'median s':>9} {'above start':>12} {'ratio':>7}")
    for name, arguments in CASES.items():
        seconds = median_s(arguments, runs)
        print(f"{name:28} {seconds:9.3f} {seconds - bare:12.3f} {seconds / bare:7.1f}")


if __name__ == "__main__":
    main()
