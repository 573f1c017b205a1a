"""The table of operators covers every operator that the reference PPO really runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from npudoctor import tables
from npudoctor.smoke_test.children import parity
from reference_ppo.config import Config
from reference_ppo.train import Trainer

# Not operators of a device: scalars turned into tensors, and values read on the host.
ON_THE_HOST = {"lift_fresh", "_local_scalar_dense"}


class Seen(TorchDispatchMode):
    """Collects the names of all operators, without the underscore of the in-place forms."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.overloadpacket.__name__.rstrip("_"))
        return func(*args, **(kwargs or {}))


def seen(work: Callable[[], None]) -> set[str]:
    with Seen() as mode:
        work()
    return mode.names


def train(**settings: Any) -> None:
    trainer = Trainer(Config(total_steps=512, rollout_steps=256, minibatch=64, eval_episodes=2, **settings))
    for _ in trainer.run():
        pass
    trainer.close()


def run_table() -> None:
    for row in tables.load("ppo_ops").rows:
        generator = torch.Generator().manual_seed(1)
        pairs = (pair.split("=") for pair in row["inputs"].split())
        inputs = {name: parity.draw(kind, generator) for name, kind in pairs}
        parity.evaluate(
            row["expression"], inputs, torch.float32, torch.device("cpu"), row["backward"] == "yes"
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"num_envs": 1},
        {"num_envs": 2, "recurrent": True},
        {"num_envs": 2, "env": "CartPole-v1"},
        {"num_envs": 2, "squash": True},
    ],
    ids=["plain", "recurrent", "discrete", "squash"],
)
def test_every_operator_of_the_reference_is_in_the_table(settings: dict[str, Any]) -> None:
    used = seen(lambda: train(**settings)) - ON_THE_HOST
    assert used - seen(run_table) == set()


def test_names_are_unique() -> None:
    names = [row["op"] for row in tables.load("ppo_ops").rows]
    assert len(set(names)) == len(names)
