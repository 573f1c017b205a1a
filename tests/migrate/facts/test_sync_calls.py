"""Hotness across files: which names hot loops call, and what those call in turn."""

from __future__ import annotations

import pickle

from npudoctor.migrate.facts.sync_calls import heat_by_name
from npudoctor.migrate.loops import Heat
from npudoctor.migrate.project import ProjectIndex, collect_facts

TRAIN = """
from agent import Agent

def train(env, agent):
    for step in range(100):
        action = agent.select(obs)
        obs, reward, done, info = env.step(action)
    agent.update()
"""
AGENT = """
class Agent:
    def select(self, obs):
        return self.policy_head(obs)

    def update(self):
        for batch in self.batches:
            loss = self.loss_of(batch)
            loss.backward()
"""


def index(**modules: str) -> ProjectIndex:
    return ProjectIndex({f"{name}.py": collect_facts(text, f"{name}.py") for name, text in modules.items()})


def test_heat_follows_calls_from_file_to_file() -> None:
    heat = heat_by_name(index(train=TRAIN, agent=AGENT))
    assert heat["select"] is Heat.STEP
    assert heat["policy_head"] is Heat.STEP
    assert heat["loss_of"] is Heat.MINIBATCH
    assert "update" not in heat  # the word is common to containers and agents alike


def test_no_loop_no_heat() -> None:
    assert heat_by_name(index(agent="def f(x):\n    return x.step(1)\n")) == {}


def test_the_index_survives_pickling() -> None:
    project = index(train=TRAIN, agent=AGENT)
    heat_by_name(project)
    again = pickle.loads(pickle.dumps(project))
    assert heat_by_name(again) == heat_by_name(index(train=TRAIN, agent=AGENT))
