"""The LSTM policy: training sees what acting saw, memory ends with the episode, and it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from reference_ppo.config import Config
from reference_ppo.envs.make import Spec
from reference_ppo.recurrent import UNITS, RecurrentPolicy
from reference_ppo.train import Trainer

SMALL = Config(num_envs=8, rollout_steps=512, total_steps=2048, epochs=2, recurrent=True, eval_episodes=4)
SPEC = Spec(3, 1, False, -np.ones(1, np.float32), np.ones(1, np.float32))


def test_cell_agrees_with_torch() -> None:
    policy = RecurrentPolicy(SPEC, seed=0)
    w = policy.weights()
    cell = torch.nn.LSTMCell(3, UNITS)
    with torch.no_grad():
        cell.weight_ih.copy_(w["lstm.w"][:, :3])
        cell.weight_hh.copy_(w["lstm.w"][:, 3:])
        cell.bias_ih.copy_(w["lstm.b"])
        cell.bias_hh.zero_()
        s, state = torch.randn(4, 3), torch.randn(4, 2 * UNITS)
        h, new = policy.cell(s, torch.ones(4, 1), state, w)
        h_ref, c_ref = cell(s, (state[:, :UNITS], state[:, UNITS:]))
    torch.testing.assert_close(h, h_ref)
    torch.testing.assert_close(new[:, UNITS:], c_ref)


def test_a_new_episode_begins_without_memory() -> None:
    policy = RecurrentPolicy(SPEC, seed=0)
    x = torch.randn(2, 3 + 1 + 1)
    x[:, -1] = torch.tensor([0.0, 1.0])
    with torch.no_grad():
        fresh, _ = policy.act(x, torch.zeros(2, 2 * UNITS), policy.weights())
        used, _ = policy.act(x, torch.randn(2, 2 * UNITS), policy.weights())
    torch.testing.assert_close(used[0], fresh[0])
    assert not torch.allclose(used[1], fresh[1])


def test_ratio_is_one_at_the_first_minibatch() -> None:
    """The sequences that the update replays reproduce the rollout, across episode ends too."""
    updates = [e for e in Trainer(SMALL).run() if e["event"] == "update"]
    assert max(e["health"]["first_log_ratio"] for e in updates) < 1e-4
    assert sum(e["episodes"] for e in updates) > 0


def test_last_value_uses_the_memory_of_its_environment() -> None:
    trainer = Trainer(SMALL)
    group = trainer.groups[0]
    group.collect(trainer.buffer, trainer.noise())
    with torch.no_grad():
        v = trainer.policy.value(torch.from_numpy(trainer.normalizer(group.obs)), group.state)
    assert np.array_equal(trainer.buffer.next_v[-1], v.numpy())


@pytest.mark.slow
def test_learns_the_task() -> None:
    config = Config(recurrent=True, lr=1e-3, minibatch=512, target_success=0.9, total_steps=102_400)
    assert list(Trainer(config).run())[-1]["success_rate"] >= 0.9


def test_needs_whole_sequences() -> None:
    with pytest.raises(ValueError, match="multiples of 16"):
        replace(SMALL, num_envs=64)
