"""Environment processes: independent seeds, and none is left behind, however the run ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
import pytest

from reference_ppo.config import Config
from reference_ppo.envs import make_envs
from reference_ppo.envs.reach import ReachEnv
from reference_ppo.train import Trainer

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [
    sys.executable, "-m", "reference_ppo", "--workers", "--num-envs", "2", "--rollout-steps", "256",
    "--minibatch", "64", "--epochs", "1", "--eval-episodes", "2", "--jsonl", "-",
]  # fmt: skip


@pytest.fixture
def running() -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A training run with worker processes that has finished its first update."""
    process = subprocess.Popen(
        [*COMMAND, "--total-steps", "100000000"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        while json.loads(process.stdout.readline())["event"] != "update":
            pass
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def workers() -> list[psutil.Process]:
    """Environment processes of this process (multiprocessing's resource tracker is none)."""
    return [c for c in psutil.Process().children() if "spawn_main" in " ".join(c.cmdline())]


def assert_all_end(children: list[psutil.Process], within: float = 10) -> None:
    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=within)
    assert not [c for c in alive if c.is_running() and c.status() != psutil.STATUS_ZOMBIE]


def test_kill_of_the_parent(running: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    process, children = running
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert_all_end(children)


def test_ctrl_c(running: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    process, children = running
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert process.wait(timeout=30) == 130
    said = process.communicate()[1]
    assert "Traceback" not in said, said
    assert_all_end(children)


def test_a_parent_that_hangs_up_in_a_step(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a process group and a signal: what a worker meets after Ctrl-C, every time."""
    envs: Any = make_envs(Config(workers=True), 2)
    envs.reset(seed=[1, 2])
    envs.step_async(np.zeros((2, 2), np.float32))
    for pipe in envs.parent_pipes:
        pipe.close()
    for process in envs.processes:
        process.join(20)
        assert process.exitcode == 0
    envs.closed = True
    assert capfd.readouterr().err == ""


def test_close_after_a_step_that_was_cut_short() -> None:
    """Ctrl-C between the answers of two workers: asking the first one again would wait for ever."""
    envs: Any = make_envs(Config(workers=True), 2)
    envs.reset(seed=[1, 2])
    envs.step_async(np.zeros((2, 2), np.float32))
    envs.parent_pipes[0].recv()
    closing = threading.Thread(target=envs.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
    assert not [p for p in envs.processes if p.is_alive()]


def test_an_error_in_an_environment_reaches_the_parent() -> None:
    envs = make_envs(Config(workers=True), 2)
    with pytest.warns(UserWarning, match="Worker-0"), pytest.raises(gym.error.ResetNeeded):
        envs.step(np.zeros((2, 2), np.float32))
    envs.close(terminate=True)


def test_terminate(running: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    process, children = running
    process.terminate()
    process.wait(timeout=30)
    assert_all_end(children)


def test_normal_end_and_exception() -> None:
    trainer = Trainer(
        Config(workers=True, num_envs=2, rollout_steps=128, minibatch=64, epochs=1, eval_episodes=2)
    )
    children = workers()
    trainer.iteration()
    trainer.close()
    assert_all_end(children)
    with pytest.raises(ValueError, match="no_such_device"):
        Trainer(Config(workers=True, num_envs=2, device="no_such_device"))
    psutil.wait_procs(workers(), timeout=10)
    assert not workers()


def test_workers_are_the_same_environments_with_independent_seeds() -> None:
    envs = make_envs(Config(workers=True), 3)
    try:
        obs, _ = envs.reset(seed=[5, 6, 7])  # type: ignore[arg-type]
        expected = [ReachEnv().reset(seed=s)[0] for s in (5, 6, 7)]
        assert np.array_equal(obs, np.stack(expected))
        assert len({o.tobytes() for o in expected}) == 3
    finally:
        envs.close()
