"""Every rule fires on the fault it names, and all stay silent on ten healthy seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference_ppo.config import Config
from reference_ppo.health.rules import RULES
from reference_ppo.train import Trainer

ROOT = Path(__file__).resolve().parents[3]

# fault -> (environment steps, rules that must fire)
PROVOKED = {
    "lr x30": (40_960, {"kl-too-high"}),
    "lr / 30": (20_480, {"policy-stands-still"}),
    "zeroed advantage": (43_008, {"advantage-zero", "policy-stands-still", "flat-return"}),
    "flipped advantage": (43_008, {"flat-return"}),
    "learning rate jumps": (61_440, {"return-crash", "kl-too-high"}),
    "unnormalised observations": (4_096, {"observation-scale"}),
    "reward x1000": (10_240, {"reward-scale", "policy-stands-still"}),
    "nan in one advantage": (12_288, {"non-finite"}),
    "entropy punished": (61_440, {"entropy-collapse"}),
    "entropy rewarded too much": (30_720, {"std-blow-up"}),
    "8-step rollouts": (2_048, {"short-rollout"}),
    "advantage leaks over resets": (61_440, {"value-misses"}),
    "old log prob without scale": (40_960, {"ratio-not-one"}),
    "shuffled old log prob": (4_096, {"ratio-not-one"}),
    "observations off by one": (20_480, {"ratio-not-one"}),
    "clipped action stored": (4_096, {"ratio-not-one"}),
    "low precision update": (8_192, {"ratio-imprecise"}),
}


def provoke(cases: list[tuple[str, int, int]]) -> dict[str, list[dict]]:
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name("provoke.py")), json.dumps(cases)]
    out = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=500, check=True
    )
    return json.loads(out.stdout)


@pytest.mark.slow
def test_silent_on_ten_healthy_seeds_that_all_learn() -> None:
    runs = provoke([("healthy", 10, 61_440)])["healthy"]
    assert [run["rules"] for run in runs] == [[]] * 10
    assert min(run["success"] for run in runs) >= 0.9


@pytest.mark.slow
def test_names_the_provoked_faults() -> None:
    runs = provoke([(name, 1, steps) for name, (steps, _) in PROVOKED.items()])
    missed = {name: expected - set(runs[name][0]["rules"]) for name, (_, expected) in PROVOKED.items()}
    assert {name: rules for name, rules in missed.items() if rules} == {}


def test_every_rule_is_provoked() -> None:
    assert {rule.name for rule in RULES} == set().union(*(rules for _, rules in PROVOKED.values()))


def test_an_error_stops_the_run_before_weights_are_lost() -> None:
    trainer = Trainer(Config(num_envs=8, rollout_steps=512, epochs=2, total_steps=10_000, eval_episodes=4))
    estimate = trainer.buffer.estimate

    def broken(gamma: float, lam: float) -> None:
        estimate(gamma, lam)
        trainer.buffer.advantage[0, 0] = float("nan")

    trainer.buffer.estimate = broken  # type: ignore[method-assign]
    events = list(trainer.run())
    alarm = next(e for e in events if e["event"] == "health")
    assert (alarm["rule"], alarm["severity"], alarm["update"]) == ("non-finite", "error", 1)
    assert events[-1]["reason"] == "fault"
    assert events[-1]["updates"] == 1
    assert trainer.policy.theta.isfinite().all()


def test_sentences_exist_in_both_languages() -> None:
    for rule in RULES:
        for text in (rule.what, rule.remedy):
            assert text.en.strip()
            assert any("\u4e00" <= c <= "\u9fff" for c in text.zh), rule.name
