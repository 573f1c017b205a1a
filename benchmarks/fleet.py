"""How long a fleet takes: `python benchmarks/fleet.py [--hosts 10000]`.

Copies the machines under fixtures/machines into a folder of N bundles, runs
`npudoctor check --replay FOLDER --json` on it, and compares with a baseline in the same
run: reading and parsing the same files with `json` alone, in one process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ROOT / "fixtures" / "machines"


def fill(folder: Path, hosts: int) -> None:
    """N bundles, the shipped machines in turn."""
    texts = [path.read_bytes() for path in sorted(MACHINES.glob("*.json"))]
    for number, text in zip(range(hosts), itertools.cycle(texts)):
        (folder / f"host{number:05d}.json").write_bytes(text)


def baseline(folder: Path) -> float:
    """Seconds to read and parse every file, nothing else."""
    started = time.perf_counter()
    for path in folder.iterdir():
        json.loads(path.read_text(encoding="utf-8"))
    return time.perf_counter() - started


def survey(folder: Path) -> tuple[float, float, int]:
    """(seconds, peak MB of the largest process, lines) of the command."""
    started = time.perf_counter()
    argv = [sys.executable, "-m", "npudoctor", "check", "--replay", str(folder), "--json"]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return time.perf_counter() - started, peak, done.stdout.count(b"\n")


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--hosts", type=int, default=10_000)
    hosts = parser.parse_args().hosts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, hosts)
        plain = baseline(folder)
        seconds, peak, lines = survey(folder)
    print(f"{hosts} bundles on {os.cpu_count()} cores, {lines} lines")
    each = 1000 * seconds / hosts
    print(f"check --replay FOLDER   {seconds:7.1f} s   {each:5.2f} ms a host   peak {peak:.0f} MB")
    print(f"json.loads alone        {plain:7.1f} s   ratio {seconds / plain:.1f}")


if __name__ == "__main__":
    main()
