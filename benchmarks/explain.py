"""How fast `npudoctor explain` reads logs, next to a plain line scan of the same file.

    python benchmarks/explain.py [--size-mb 1000] [--keep DIR]

Two logs are written and read: `mixed` is what a training run leaves behind (CANN plog lines,
metrics, warnings, one known error per 20,000 lines), `prose` is English text with no line
twice, as when a run prints what it generates: the worst case for a reader that relies on lines
being alike. The baseline is the least a Python program can do with such a file:
go through its lines and ask each for one word. Everything runs in one process on one core.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from npudoctor.symptoms.match import Scanner
from npudoctor.symptoms.rank import ranked
from npudoctor.symptoms.rows import all_symptoms

TEMPLATES = (
    "[INFO] RUNTIME({a},python3):2025-06-24-11:20:{s:02d}.{b:06d} [stream.cc:{c}] StreamCreate: id={d}",
    "[INFO] GE({a},python3):2025-06-24-11:20:{s:02d}.{b:06d} [mem.cc:{c}] Malloc: addr[0x{h:x}], size[{b}]",
    "[INFO] HCCL({a},python3):2025-06-24-11:20:{s:02d}.{b:06d} [hccl_comm.cc:{c}] rank {d} allreduce done",
    "2025-06-24 11:20:{s:02d},{d:03d} INFO trainer.py:{d} update {a} loss {x:.5f} kl {y:.6f} reward {z:.3f}",
    "step {a} | policy_loss {x:.4f} | value_loss {y:.4f} | entropy {z:.4f} | fps {c}",
    "[W NPUStream.cpp:{d}] Warning: retry {d} of 5, nothing failed (pid {a})",
)


def mixed(rng: random.Random) -> Iterator[str]:
    errors = [e for row in all_symptoms() for e in row.examples]
    for number in itertools.count():
        if number % 20_000 == 19_999:
            yield rng.choice(errors)
        yield rng.choice(TEMPLATES).format(
            a=rng.randrange(10**6), b=rng.randrange(10**6), c=rng.randrange(5000), d=rng.randrange(999),
            s=rng.randrange(60), h=rng.getrandbits(44), x=rng.random(), y=rng.random(), z=rng.random() * 100,
        )


def prose(rng: random.Random) -> Iterator[str]:
    words = " ".join(topics.values()).split()
    while True:
        yield " ".join(rng.choices(words, k=rng.randrange(8, 30)))


def write(path: Path, lines: Iterator[str], size: int) -> None:
    """Write `size` bytes: a sample of 64 MB made line by line, repeated with a tag on each line."""
    sample, length = [], 0
    for line in lines:
        sample.append(line)
        length += len(line) + 1
        if length >= min(size, 64 << 20):
            break
    block = ("\n".join(sample) + "\n").encode()
    with path.open("wb") as out:
        for turn in range(size // len(block) + 1):
            tag = b" #" + bytes(97 + int(digit) for digit in str(turn)) + b"\n"
            out.write(block if turn == 0 else block.replace(b"\n", tag))


def plain_scan(path: Path) -> int:
    """The baseline: count lines that hold one word."""
    found = 0
    with path.open("rb") as stream:
        for line in stream:
            if b"rror" in line:
                found += 1
    return found


def explain(path: Path) -> tuple[int, int]:
    scanner = Scanner(all_symptoms())
    with path.open("rb", buffering=0) as stream:
        scanner.scan(stream)
    return len(ranked(scanner)), scanner.lines


def timed(label: str, path: Path, function: object) -> float:
    started = time.process_time()
    result = function(path)  # type: ignore[operator]
    seconds = time.process_time() - started
    speed = path.stat().st_size / 1e6 / seconds
    print(f"  {label:<28} {seconds:7.2f} s CPU  {speed:7.0f} MB/s   -> {result}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size-mb", type=int, default=1000)
    parser.add_argument("--keep", type=Path, default=None, help="write the logs here and leave them")
    options = parser.parse_args()
    symptoms = len(all_symptoms())
    print(f"Python {platform.python_version()}, {symptoms} symptoms, one of {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=options.keep) as folder:
        for name, lines in (("mixed", mixed), ("prose", prose)):
            path = (options.keep or Path(folder)) / f"{name}.log"
            write(path, lines(random.Random(7)), options.size_mb * 1_000_000)
            print(f"{name}.log, {path.stat().st_size / 1e6:.0f} MB")
            base = timed("baseline: plain line scan", path, plain_scan)
            ours = timed("npudoctor explain", path, explain)
            print(f"  ratio {ours / base:.1f}")
            if not options.keep:
                path.unlink()


if __name__ == "__main__":
    main()
