"""The whole loop: learns, is deterministic, resumes to the same bytes, and the ratio starts at 1."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch

from reference_ppo import checkpoint, snapshot
from reference_ppo.config import Config
from reference_ppo.train import Trainer

SMALL = Config(num_envs=8, rollout_steps=512, total_steps=2048, epochs=3, eval_episodes=4)


def theta(trainer: Trainer) -> np.ndarray:
    return trainer.policy.theta.detach().numpy().copy()


def test_learns_the_task_in_time() -> None:
    events = list(Trainer(Config(target_success=0.9)).run())
    assert events[-1]["reason"] == "target-success"
    assert events[-1]["success_rate"] >= 0.9
    assert events[-1]["steps"] <= 50_000


def test_learns_from_a_sparse_reward() -> None:
    """Its advantages keep their scale: normalised, those of a rollout without reward would be loud noise."""
    config = Config(reward="sparse", normalize_advantage=False, seed=1, update="numpy", target_success=0.9)
    events = list(Trainer(replace(config, total_steps=614_400)).run())
    assert events[-1]["reason"] == "target-success"
    early = [e for e in events if e["event"] == "eval" and e["steps"] < 20_000]
    assert max(e["success_rate"] for e in early) < 0.1, "not learned, but easy"


def test_ratio_is_one_at_the_first_minibatch() -> None:
    for event in Trainer(SMALL).run():
        if event["event"] == "update":
            assert event["health"]["first_log_ratio"] < 1e-5
            assert event["device_to_host"] == event["vector_steps"] == 64


def test_same_seed_same_bytes_other_seed_other_bytes() -> None:
    results = []
    for seed in (3, 3, 4):
        trainer = Trainer(Config(**{**SMALL.__dict__, "seed": seed}))
        list(trainer.run())
        results.append(theta(trainer).tobytes())
    assert results[0] == results[1] != results[2]


def test_resume_equals_going_on(tmp_path) -> None:
    whole = Trainer(SMALL)
    for _ in range(4):
        whole.iteration()
    first = Trainer(SMALL)
    first.iteration()
    first.iteration()
    checkpoint.save(tmp_path / "c.pt", snapshot.take(first))
    second = Trainer(SMALL)
    snapshot.restore(second, checkpoint.load(tmp_path / "c.pt"))
    for _ in range(2):
        second.iteration()
    assert theta(second).tobytes() == theta(whole).tobytes()
    assert np.array_equal(second.groups[0].obs, whole.groups[0].obs)
    assert second.steps == whole.steps


def test_resume_refuses_other_settings(tmp_path) -> None:
    trainer = Trainer(SMALL)
    checkpoint.save(tmp_path / "c.pt", snapshot.take(trainer))
    other = Trainer(Config(**{**SMALL.__dict__, "lr": 1e-3}))
    with pytest.raises(ValueError, match=r"lr 0\.0003"):
        snapshot.restore(other, checkpoint.load(tmp_path / "c.pt"))


def test_a_checkpoint_with_code_is_refused(tmp_path) -> None:
    torch.save({"format": checkpoint.FORMAT, "x": Trainer}, tmp_path / "evil.pt")
    with pytest.raises(ValueError, match=r"cannot|not a checkpoint"):
        checkpoint.load(tmp_path / "evil.pt")


def test_a_checkpoint_of_format_2_goes_on_to_the_same_weights(tmp_path) -> None:
    """It held the policy's head as (H, K)."""
    trainer = Trainer(SMALL)
    trainer.iteration()
    state = snapshot.take(trainer)
    h, k = 64, 2
    for where, name in ((state, "theta"), (state["adam"], "m"), (state["adam"], "v")):
        parts = dict(zip(trainer.policy.shapes, where[name].split(trainer.policy.sizes)))
        assert parts["pi.w"].any()
        parts["pi.w"] = parts["pi.w"].view(k, h).t().flatten()
        where[name] = torch.cat(list(parts.values()))
    config = json.loads(state["config"])
    del config["host_inference"]  # a setting that it did not know
    state = {**state, "format": "reference_ppo/2", "config": json.dumps(config)}
    checkpoint.save(tmp_path / "old.pt", state)
    resumed = Trainer(SMALL)
    snapshot.restore(resumed, checkpoint.load(tmp_path / "old.pt"))
    for t in (trainer, resumed):
        t.iteration()
    assert theta(resumed).tobytes() == theta(trainer).tobytes()


def test_a_checkpoint_of_another_layout_is_refused_in_one_sentence(tmp_path) -> None:
    torch.save({"format": "reference_ppo/1", "theta": torch.zeros(3)}, tmp_path / "old.pt")
    with pytest.raises(ValueError, match="weights lie in another order"):
        checkpoint.load(tmp_path / "old.pt")


def test_a_second_trainer_does_not_keep_garbage_forever() -> None:
    """What the collector is told to leave alone is what importing torch left, not what lies about now."""
    Trainer(SMALL).close()
    cycle = Config()
    kept = weakref.ref(cycle)
    cycle.extra["itself"] = cycle
    del cycle
    Trainer(SMALL).close()
    gc.collect()
    assert kept() is None


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("update", ["plain", "numpy"])
def test_a_run_gone_wrong_is_told_by_the_health_rules_alone(update: str) -> None:
    """Not by NumPy's warnings about its overflows too."""
    config = replace(SMALL, lr=1e3, stop_on_fault=False, update=update, eval_episodes=1)
    events = list(Trainer(config).run())
    assert "non-finite" in {e["rule"] for e in events if e["event"] == "health"}
