"""Ctrl-C waits for the end of the block, and is neither lost nor doubled."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npudoctor.core.interrupt import interrupt_waits
from npudoctor.machine import live
from npudoctor.machine.host import Command
from npudoctor.simulate import verify
from npudoctor.smoke_test import child
from npudoctor.smoke_test.worker import Worker

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def test_an_interrupt_takes_effect_at_the_end() -> None:
    reached: list[bool] = []
    before = signal.getsignal(signal.SIGINT)

    def block() -> None:
        with interrupt_waits():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_without_one_nothing_happens_and_an_ignored_one_stays_ignored() -> None:
    with interrupt_waits():
        pass
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt_waits():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_may_use_it() -> None:
    entered: list[bool] = []

    def work() -> None:
        with interrupt_waits():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


def staying() -> None:
    worker = Worker(list(SLEEP), {})
    try:
        worker.run("any", (), 60)
    finally:
        worker.close()


STARTS: dict[str, Callable[[], object]] = {
    "collector": lambda: live.LiveHost().run(Command("sleep", SLEEP, 60)),
    "smoke-test": lambda: child.run(list(SLEEP), 60),
    "smoke-test --quick": staying,
    "migrate --verify": lambda: verify._child(SLEEP, Path(), 60),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_child_is_ended_when_ctrl_c_comes_while_it_starts(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            children.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        STARTS[start]()
    assert [c.poll() is not None for c in children] == [True]
