"""How fast `npudoctor migrate` is, beside libcst's parser over the files it has to look into.

    python benchmarks/migrate.py CHECKOUT [CHECKOUT ...]

One line per tree, all from the same run: files per CPU second with one worker; the ratio of that
to `libcst.parse_module` of the files that hold an idiom (the named baseline, CPU seconds too); the
gain of a second worker on the clock (meaningful on an idle machine); the whole command (start,
walk, write nothing) in seconds; peak memory of the largest process.
Trees are only read.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Measure each tree and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--repeat", type=int, default=3, help="best of so many runs (default 3)")
    chosen = parser.parse_args()
    print(
        "| tree | files | with idioms | MB | files per CPU s | CPU, ratio to libcst parse | gain of 2 cores "
        "| command s | peak MB |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for checkout in chosen.checkouts:
        print(measure(checkout, chosen.repeat), flush=True)


def measure(checkout: Path, repeat: int) -> str:
    """One row of the table."""
    from npudoctor.config import Config
    from npudoctor.migrate.lang.python import wants
    from npudoctor.migrate.walk import walk

    tree = walk(checkout, Config())
    data = [(tree.root / e.path).read_bytes() for e in tree.entries if e.kind == "python"]
    idioms = [d for d in data if wants(d)]
    one = min(migrate(checkout, 1) for _ in range(repeat))
    two = min(migrate(checkout, 2) for _ in range(repeat))
    parse = min(libcst_parse(idioms) for _ in range(repeat))
    command, peak = min(command_line(checkout) for _ in range(repeat))
    megabytes = sum(map(len, data)) / 1e6
    return (
        f"| {checkout.name} | {len(tree.entries)} | {len(idioms)} | {megabytes:.2f} "
        f"| {len(tree.entries) / one.cpu:.0f} | {one.cpu / parse:.2f} | {one.wall / two.wall:.2f} "
        f"| {command:.2f} | {peak:.0f} |"
    )


@dataclass(frozen=True, order=True)
class Seconds:
    """CPU seconds (all processes) and seconds on the clock."""

    cpu: float
    wall: float


def migrate(checkout: Path, jobs: int) -> Seconds:
    """Both passes over the tree with so many workers; imports and walk not counted.

    CPU seconds are what the ratio is made of: other load on the machine does not change them.
    """
    from npudoctor.config import Config
    from npudoctor.migrate.settings import Settings
    from npudoctor.migrate.tree import migrate_tree
    from npudoctor.migrate.walk import walk

    tree = walk(checkout, Config())
    before, started = cpu(), time.perf_counter()
    migrate_tree(tree, Config(), Settings(), jobs)
    return Seconds(cpu() - before, time.perf_counter() - started)


def cpu() -> float:
    """CPU seconds of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def libcst_parse(sources: list[bytes]) -> float:
    """CPU seconds of `libcst.parse_module` over the files with idioms; what does not parse is skipped."""
    import libcst

    gc.disable()  # in favour of the baseline: the collector costs it a third
    started = time.process_time()
    for source in sources:
        try:
            libcst.parse_module(source)
        except (libcst.ParserSyntaxError, UnicodeDecodeError):
            continue
    seconds = time.process_time() - started
    gc.enable()
    gc.collect()
    return seconds


def command_line(checkout: Path) -> tuple[float, float]:
    """Seconds and peak resident megabytes (all processes' largest) of the whole command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "npudoctor", "migrate", "--check", "--quiet", str(checkout)]
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=False, capture_output=True)
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    main()
