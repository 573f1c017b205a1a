"""Taking turns changes when things happen, not what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference_ppo import overlap
from reference_ppo.config import Config
from reference_ppo.train import Trainer

SMALL = Config(num_envs=8, rollout_steps=2048, total_steps=4096, epochs=2, eval_episodes=4, overlap=True)
FIELDS = ("raw", "s", "keep", "a", "log_p", "v", "next_v", "r", "terminated", "truncated")


@pytest.mark.parametrize("recurrent", [False, True])
def test_turns_give_the_same_bytes_as_one_group_after_the_other(recurrent: bool) -> None:
    config = replace(SMALL, recurrent=recurrent)
    turns, serial = Trainer(config), Trainer(config)
    noise = turns.noise()
    overlap.collect(turns.groups, turns.buffer, noise)
    serial.groups[0].collect(serial.buffer.part(slice(0, 4)), noise[:, :4])
    serial.groups[1].collect(serial.buffer.part(slice(4, 8)), noise[:, 4:])
    for name in FIELDS:
        assert np.array_equal(getattr(turns.buffer, name), getattr(serial.buffer, name)), name
    assert turns.buffer.truncated.any()


def test_equals_the_plain_loop_in_what_it_learns() -> None:
    results = []
    for config in (SMALL, replace(SMALL, overlap=False)):
        trainer = Trainer(config)
        list(trainer.run())
        results.append(trainer.policy.theta.detach().numpy().copy())
    # Matrix products of 4 and of 8 rows may round differently, nothing else does.
    assert results[0] == pytest.approx(results[1], abs=1e-4)


def test_order_of_calls() -> None:
    calls: list[str] = []

    class Fake:
        def __init__(self, name: str) -> None:
            self.name, self.envs = name, type("E", (), {"num_envs": 1})

        def __getattr__(self, call: str):  # type: ignore[no-untyped-def]
            return lambda *args: calls.append(f"{call} {self.name}")

    buffer = type("B", (), {"part": lambda self, part: None})()
    overlap.collect([Fake("a"), Fake("b")], buffer, np.zeros((2, 2, 1)))  # type: ignore[arg-type,list-item]
    turn = ["read a", "send a", "launch b", "recv a", "read b", "send b"]
    assert calls == [
        "begin a", "begin b", "launch a", *turn, "launch a", "recv b", *turn, "recv b", "end a", "end b",
    ]  # fmt: skip
