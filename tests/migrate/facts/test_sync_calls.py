"""Hotness across files: which names hot loops call, and what those call in turn."""

from __future__ import annotations

import pickle

from npudoctor.migrate.callgraph import heat_for
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
    heat = heat_for(index(train=TRAIN, agent=AGENT), "agent.py")
    assert heat["select"] is Heat.STEP
    assert heat["policy_head"] is Heat.STEP
    assert heat["loss_of"] is Heat.MINIBATCH
    assert "update" not in heat  # the word is common to containers and agents alike


def test_no_loop_no_heat() -> None:
    assert heat_for(index(agent="def f(x):\n    return x.step(1)\n"), "agent.py") == {}


def test_the_index_survives_pickling() -> None:
    project = index(train=TRAIN, agent=AGENT)
    heat_for(project, "agent.py")
    again = pickle.loads(pickle.dumps(project))
    assert heat_for(again, "agent.py") == heat_for(index(train=TRAIN, agent=AGENT), "agent.py")


LOOP = "for step in range(9):\n    obs, reward, done, info = env.step({call})\n"
OWN = "def act(obs):\n    return deeper(obs)\n\n\ndef run(env):\n    x.step(1)\n"


def test_an_imported_function_is_hot_in_its_own_module_alone() -> None:
    train = "from pkg.agent import act\n" + LOOP.format(call="act(obs)")
    project = ProjectIndex(
        {
            path: collect_facts(text, path)
            for path, text in {"train.py": train, "pkg/agent.py": OWN, "other.py": OWN}.items()
        }
    )
    assert heat_for(project, "pkg/agent.py")["act"] is Heat.STEP
    assert heat_for(project, "pkg/agent.py")["deeper"] is Heat.STEP
    assert "act" not in heat_for(project, "other.py")


def test_relative_imports_and_modules_are_followed() -> None:
    first = "from .agent import act\n" + LOOP.format(call="act(obs)")
    second = "from . import agent\n" + LOOP.format(call="agent.act(obs)")
    third = "import pkg.agent as agent\n" + LOOP.format(call="agent.act(obs)")
    for train in (first, second, third):
        texts = {"pkg/train.py": train, "pkg/agent.py": OWN, "agent.py": OWN, "b/agent.py": OWN}
        project = ProjectIndex({path: collect_facts(text, path) for path, text in texts.items()})
        assert heat_for(project, "pkg/agent.py")["act"] is Heat.STEP, train
        assert "act" not in heat_for(project, "b/agent.py"), train


def test_a_function_of_the_module_itself_makes_no_other_one_hot() -> None:
    train = "def act(obs):\n    return obs\n\n\n" + LOOP.format(call="act(obs)")
    assert "act" not in heat_for(index(train=train, other=OWN), "other.py")


def test_a_library_s_function_makes_none_hot() -> None:
    train = "from jax import act\n" + LOOP.format(call="act(obs)")
    assert "act" not in heat_for(index(train=train, other=OWN), "other.py")


def test_a_name_that_a_package_passes_on_is_known_by_name() -> None:
    texts = {
        "pkg/agent.py": OWN,
        "train.py": "from pkg import act\n" + LOOP.format(call="act(obs)"),
    }
    project = ProjectIndex({path: collect_facts(text, path) for path, text in texts.items()})
    assert heat_for(project, "pkg/agent.py")["act"] is Heat.STEP


def test_methods_are_known_by_name() -> None:
    train = "def run(env, agent):\n    for step in range(9):\n        env.step(agent.choose(1))\n"
    other = "class Agent(Base):\n    def choose(self, obs):\n        return x.step(1)\n"
    assert heat_for(index(train=train, agent=other), "agent.py")["choose"] is Heat.STEP


def test_a_method_of_an_imported_class_is_known_by_name() -> None:
    train = "from agent import Agent\n" + LOOP.format(call="Agent.choose(obs)")
    other = "class Agent:\n    def choose(self, obs):\n        return x.step(1)\n"
    assert heat_for(index(train=train, agent=other), "agent.py")["choose"] is Heat.STEP
