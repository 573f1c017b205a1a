"""Work in child processes: results by path, crashes and faults cost one file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from npudoctor.migrate.pool import Workers
from npudoctor.migrate.walk import Entry

# One worker that says its number and then takes as many seconds over a file as the argument tells.
SLOW = """
import os, sys, time
from npudoctor.migrate.pool import Workers
from npudoctor.migrate.walk import Entry
def slow(entry, job):
    print(os.getpid(), flush=True)
    time.sleep(float(sys.argv[1]))
with Workers(1) as pool:
    pool.run(slow, [Entry('a', '', 1)], None, lambda n: None, lambda e, r: None)
"""
ENTRIES = [Entry(f"f{i}.py", "python", 1000 * i) for i in range(60)]


def work(entry: Entry, job: str) -> str:
    if entry.path == "f7.py" and "die" in job:
        os.kill(os.getpid(), signal.SIGKILL)
    if entry.path == "f8.py" and "raise" in job:
        raise KeyError("oops")
    return f"{job} {entry.path}"


def crashed(entry: Entry, reason: str) -> str:
    return f"crashed: {reason}"


def run(job: str, workers: int = 2) -> dict[str, str]:
    counted: list[int] = []
    with Workers(workers) as pool:
        done = pool.run(work, ENTRIES, job, counted.append, crashed)
    assert sum(counted) == len(ENTRIES)
    assert set(done) == {e.path for e in ENTRIES}
    return done


def test_every_entry_has_its_result() -> None:
    assert all(result == f"job {path}" for path, result in run("job").items())


def test_a_worker_that_dies_costs_one_file() -> None:
    done = run("die")
    assert done.pop("f7.py").startswith("crashed")
    assert all(result == f"die {path}" for path, result in done.items())


def test_an_exception_costs_one_file() -> None:
    done = run("raise", workers=1)
    assert done.pop("f8.py") == "crashed: KeyError: 'oops'"
    assert all(result == f"raise {path}" for path, result in done.items())


def test_workers_end_with_a_killed_parent() -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW, "3"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _alive(worker):
        time.sleep(0.1)
    assert not _alive(worker)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().split()[2] != "Z"
    except OSError:
        return False


def test_an_interrupt_ends_workers_in_the_middle_of_a_file() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)  # not the minute that the file would take
    assert "KeyboardInterrupt" in errors
    assert not _alive(worker)
