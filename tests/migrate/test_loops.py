"""Heat of a place: the loops around it and the calls that lead to it."""

from __future__ import annotations

import ast
import textwrap

import pytest

from npudoctor.migrate.context import ModuleContext
from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.loops import Heat, Loops, hotter


def heat_of_mark(source: str, outside: dict[str, Heat] | None = None) -> Heat:
    """Heat of the call `mark()`."""
    ctx = ModuleContext(textwrap.dedent(source))
    loops = Loops(ctx, outside)
    mark = next(c for c in ctx.nodes(ast.Call) if isinstance(c.func, ast.Name) and c.func.id == "mark")
    return loops.of(mark)


@pytest.mark.parametrize(
    ("source", "heat"),
    [
        ("mark()", Heat.ONCE),
        ("for x in y:\n    mark()", Heat.LOOP),
        ("for s in range(9):\n    o = env.step(a)\n    mark()", Heat.STEP),
        ("while not done:\n    o = self.eval_envs.step(a)\n    mark()", Heat.STEP),
        ("for u in range(9):\n    for s in range(9):\n        o = envs.step(a)\n    mark()", Heat.EPOCH),
        ("for e in range(9):\n    for b in z:\n        loss.backward()\n        mark()", Heat.MINIBATCH),
        ("for e in range(9):\n    for b in z:\n        loss.backward()\n    mark()", Heat.EPOCH),
        ("for batch in loader:\n    mark()", Heat.MINIBATCH),
        ("for epoch in range(9):\n    mark()", Heat.EPOCH),
        ("for i in range(num_steps):\n    mark()", Heat.STEP),
        ("for s in range(9):\n    env.step(a)\nelse:\n    mark()", Heat.ONCE),
        ("for s in mark():\n    env.step(a)", Heat.ONCE),
        ("while mark():\n    env.step(a)", Heat.STEP),
        ("for b in z:\n    optimizer.step()\n    mark()", Heat.MINIBATCH),
        ("for b in z:\n    scheduler.step()\n    mark()", Heat.LOOP),
        (
            "def collect():\n    for i in z:\n        env.step(a)\n"
            "while self.num_timesteps < total:\n    collect()\n    mark()",
            Heat.EPOCH,
        ),
        (
            "def train(b):\n    update()\ndef update():\n    loss.backward()\n"
            "for t in range(max_timesteps):\n    trainer.train(buffer.sample())\n    mark()",
            Heat.MINIBATCH,
        ),
        ("def play():\n    env.step(a)\nfor t in range(max_timesteps):\n    play()\n    mark()", Heat.STEP),
        (
            "def evaluate():\n    for i in z:\n        env.step(a)\n"
            "for t in range(max_timesteps):\n    if t % 9 == 0:\n        evaluate()\n    mark()",
            Heat.STEP,
        ),
        ("for b in z:\n    self.manual_backward(loss)\n    mark()", Heat.MINIBATCH),
        ("while self.num_timesteps < total:\n    self.collect_rollouts()\n    mark()", Heat.EPOCH),
        ("while num_timesteps < total:\n    act()\n    mark()", Heat.STEP),
    ],
)
def test_lexical(source: str, heat: Heat) -> None:
    assert heat_of_mark(source) is heat


def test_a_method_is_not_taken_for_a_function_of_the_same_name() -> None:
    source = """
    class Trainer:
        def train(self, batch):
            loss.backward()

    def train(config):
        for t in range(config.max_timesteps):
            trainer.train(buffer.sample())
            mark()
    """
    assert heat_of_mark(source) is Heat.MINIBATCH


def test_calls_are_followed_through_functions_and_methods() -> None:
    source = """
    class Agent:
        def act(self, obs):
            return self.choose(obs)

        def choose(self, obs):
            return mark()

    def play(env, agent):
        while True:
            env.step(agent.act(obs))
    """
    assert heat_of_mark(source) is Heat.STEP


def test_a_module_called_by_name_runs_forward() -> None:
    source = """
    class Net:
        def forward(self, x):
            mark()

    class Agent:
        def learn(self):
            for b in range(4):
                self.actor(b)
                loss.backward()
    """
    assert heat_of_mark(source) is Heat.MINIBATCH


def test_a_call_from_another_module_counts() -> None:
    source = "def act(obs):\n    mark()"
    assert heat_of_mark(source) is Heat.ONCE
    assert heat_of_mark(source, {"act": Heat.STEP}) is Heat.STEP


def test_recursion_ends() -> None:
    assert heat_of_mark("def f():\n    f()\n    mark()\n\nfor x in y:\n    f()") is Heat.LOOP


def test_order() -> None:
    assert hotter(Heat.EPOCH, Heat.STEP, Heat.ONCE) is Heat.STEP
    assert [h.rank for h in Heat] == sorted(h.rank for h in Heat)


BUFFER = """
class {name}:
    def {method}(self, x):
        mark()

for step in range(9):
    obs = env.step(a)
    {call}
"""


@pytest.mark.parametrize(
    ("name", "method", "call", "heat"),
    [
        ("RolloutBuffer", "add", "rollout_buffer.add(obs)", Heat.STEP),
        ("ReplayMemory", "sample", "self.memory.sample(obs)", Heat.STEP),
        ("ReplayMemory", "sample", "action_space.sample(obs)", Heat.ONCE),
        ("Policy", "sample", "policy.sample(obs)", Heat.STEP),
        ("Meter", "add", "meter.add(obs)", Heat.ONCE),
        ("RolloutBuffer", "add", "names.add(obs)", Heat.ONCE),
    ],
)
def test_methods_of_buffers_are_told_apart(name: str, method: str, call: str, heat: Heat) -> None:
    assert heat_of_mark(BUFFER.format(name=name, method=method, call=call)) is heat


@pytest.mark.parametrize(
    "body",
    [
        "losses.append(loss.item())",
        "total += loss.item()",
        "a, b, c = loss.item(), kl.item(), clip.item(); print(a, b, c)",
    ],
)
def test_what_runs_now_and_then_has_the_same_words_in_every_rule(body: str) -> None:
    source = (
        "import torch\nimport torch_npu\n\n\ndef run(env, device, losses):\n    total = 0.0\n"
        "    for step in range(128):\n        env.step(1)\n        loss = torch.ones(3).to(device).mean()\n"
        "        kl, clip = loss * 2, loss * 3\n        if step % 10 == 0:\n"
        f"            {body}\n    return losses, total\n"
    )
    found = [f for f in migrate_source(source, "a.py").findings if f.code.startswith("NPU20")]
    assert found
    assert {f.params["heat"] for f in found} == {"epoch"}
