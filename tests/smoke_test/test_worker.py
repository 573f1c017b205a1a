"""The child that stays: one process for several programs, replaced after it fails or hangs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from npudoctor.smoke_test.worker import Worker

# Speaks the protocol of children/worker.py without torch: the job's first word says what to do.
CHILD = """
import json, os, sys, time
def say(**event):
    print(json.dumps(event), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    say(event="pid", pid=os.getpid())
    print("noise for", job["args"], file=sys.stderr, flush=True)
    if job["args"][0] == "hang": time.sleep(60)
    if job["args"][0] == "die": os.kill(os.getpid(), 11)
    code = 1 if job["args"][0] == "fail" else 0
    say(event="finished", code=code)
    if code: sys.exit(code)
"""


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker([sys.executable, "-c", CHILD], {})
    yield made
    made.close()


def pid(worker: Worker, what: str = "ok") -> int:
    event = worker.run("any", (what,), 10.0).first("pid")
    assert event is not None
    return int(event["pid"])


def test_one_process_serves_several_programs(worker: Worker) -> None:
    assert pid(worker) == pid(worker)


def test_events_and_log_belong_to_their_program(worker: Worker) -> None:
    first, second = worker.run("any", ("one",), 10.0), worker.run("any", ("two",), 10.0)
    assert len(first.events) == len(second.events) == 1
    assert first.ended_well
    assert second.ended_well


@pytest.mark.parametrize(("what", "code"), [("fail", 1), ("die", -11)])
def test_a_failure_ends_the_child_and_the_next_program_gets_a_fresh_one(
    worker: Worker, what: str, code: int
) -> None:
    before = pid(worker)
    result = worker.run("any", (what,), 10.0)
    assert result.code == code
    assert not result.ended_well
    assert any("noise" in line for line in result.log)
    assert pid(worker) != before


def test_a_hang_is_ended_in_time(worker: Worker) -> None:
    started = time.monotonic()
    result = worker.run("any", ("hang",), 1.0)
    assert result.timed_out
    assert time.monotonic() - started < 8
    assert pid(worker) > 0


def test_an_interpreter_that_is_not_there() -> None:
    result = Worker(["/no/such/python"], {}).run("any", (), 1.0)
    assert result.code is None
    assert "No such file" in result.log[0]
