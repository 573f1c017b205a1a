"""Index uploads, rows of reads and host buffers: programs run before and after, bit for bit."""

from __future__ import annotations

import textwrap

import pytest
import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.migrate.sync.equal import PROGRAMS, migrated, outcome

HEAD = """
import numpy as np
import torch


class Log(list):
    def add(self, name, value):
        self.append((name, value))


class Env:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, action):
        return self.rng.normal(size=3), self.rng.normal(size=2), bool(self.rng.random() < 0.2), {}


def program(seed, count, device=torch.device("cpu")):
    torch.manual_seed(seed)
    np.random.seed(seed)
    log = Log()
    first = torch.randn(12, 2).to(device)
    second = torch.randn(12, device=device)
    net = torch.nn.Linear(2, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    inds = np.arange(12)
"""
TAIL = "\n    log.add('end', (first, second, list(net.parameters())))\n    return list(log)\n"


def build(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + TAIL


def same(source: str, *args: object, unsafe: bool = False) -> bool:
    """Assert equal outcomes; whether anything was rewritten."""
    after = migrated(source, unsafe=unsafe)
    if after == source:
        return False
    assert outcome(after, *args)[0] == outcome(source, *args)[0], f"\n{source}\n---- became ----\n{after}"
    return True


UPDATE = """
for epoch in range(2):
    np.random.shuffle(inds)
    for start in range(0, 12, 4):
        mb = {index}
        {more}
        error = net(first[mb]).view(-1) - second[mb]
        loss = (error ** 2).mean() + first.reshape(12, 2)[mb].sum() * 0
        opt.zero_grad()
        loss.backward()
        opt.step()
        {after}
        log.add("loss", loss.detach().clone())
"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("index", "changed"),
    [
        ("inds[start:start + 4]", True),
        ("inds.reshape(3, 4)[:, 1:].ravel()", True),
        ("np.arange(start, start + 4)", True),
        ("np.random.permutation(12)[:4]", True),
        ("inds[::-1]", True),
        ("inds.copy()[2:5]", True),
        ("inds[start]", False),
        ("inds[inds > start]", False),
        ("list(range(4))", False),
        ("(inds > 3)[:]", False),
        ("torch.randperm(12)[:4]", False),
        ("inds[start:start + 4].astype(float)", False),
        ("inds / 1", False),
    ],
)
def test_index(index: str, changed: bool, seed: int) -> None:
    assert same(build(UPDATE.format(index=index, more="pass", after="pass")), seed, 0) is changed


@pytest.mark.parametrize(
    ("more", "after", "changed"),
    [
        ("np.random.shuffle(inds)", "pass", False),
        ("pass", "np.random.shuffle(inds)", False),
        ("inds[0] = 3", "pass", False),
        ("mb = mb + 0", "pass", False),
        ("mb.sort()", "pass", False),
        ("log.add('n', len(mb))", "pass", False),
        ("pass", "log.add('mb', mb.tolist())", False),
        ("pass", "log.add('np', np.ones(12)[mb])", False),
        ("pass", "first[mb] = 0.5", False),
        ("pass", "log.add('lazy', lambda: second[mb])", False),
        ("second = second.cpu()", "pass", False),
        ("first = first * 2", "second = second + 1", True),
        ("pass", "log.add('more', second[mb])", True),
    ],
)
def test_index_surroundings(more: str, after: str, changed: bool) -> None:
    source = build(UPDATE.format(index="inds[start:start + 4]", more=more, after=after))
    if not changed:
        assert migrated(source) == source or "as_tensor" not in migrated(source)
    same(source, 1, 0)
    assert ("as_tensor" in migrated(source)) is changed


ROW = (
    "log.add('a', a.item())",
    "log.add('b', b.item())",
    "log.add('c', c.item() * 2)",
    "x = c.item()",
    "log.add('n', len(log))",
    "a = a * 2",
    "b += 1",
    "a = a.item()",
    "log.add('d', d.item())",
    "log.add('both', (a.item(), b.item()))",
    "c.mul_(2)",
    "d.detach().add_(1)",
    "b = second.max()",
    "log.add('if', a.item() if count else 0)",
    "log.add('t', a)",
    "second[0] = 9",
    "log.add('s', f'{c.item():.3f}')",
    "c = c.reshape(1)",
    "y = [b.item(), c.item(), a.item()]",
    "log.add('z', [v.item() for v in (a, b)])",
    "if count:\n    log.add('q', b.item())",
)
MAKE = "a = first.mean()\nb = (second * 2).std()\nc = first.exp().sum()\nd = second[0]\n"


@settings(max_examples=100 * PROGRAMS, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(ROW), min_size=2, max_size=7), st.integers(0, 5), st.integers(0, 1))
def test_rows(statements: list[str], seed: int, count: int) -> None:
    event(f"rewritten: {same(build(MAKE + chr(10).join(statements)), seed, count)}")


def test_row_reads_once() -> None:
    source = build(MAKE + "\n".join(ROW[:4]))
    assert outcome(source, 0, 1)[1] == 4
    assert outcome(migrated(source), 0, 1)[1] == 0


def test_mixed_precision_in_a_row() -> None:
    source = build(
        "a = first.double().mean()\nb = first.bfloat16().sum()\nc = second.mean()\n"
        "log.add('a', a.item())\nlog.add('b', b.item())\nlog.add('c', c.item())"
    )
    assert same(source, 3, 0)


ROLLOUT = """
env = Env(seed)
rewards = torch.zeros(({count}, 2)).to(device)
{before}
for update in range(3):
    for step in range({count}):
        obs, reward, done, info = env.step(step)
        {inside}
        rewards[{index}] = {value}
        {control}
    log.add("rewards", rewards.clone())
    log.add("sum", (rewards.sum(0) + rewards[0]).tolist())
    {after}
"""


def rollout(**parts: object) -> str:
    base = {
        "count": 5,
        "before": "pass",
        "inside": "pass",
        "index": "step",
        "value": "torch.Tensor(reward).to(device)",
        "control": "pass",
        "after": "pass",
    }
    return build(ROLLOUT.format(**{**base, **parts}))


@pytest.mark.parametrize(
    "value",
    [
        "torch.Tensor(reward).to(device)",
        "torch.tensor(reward).to(device).view(-1)",
        "torch.from_numpy(reward).to(device)",
        "torch.as_tensor(reward).to(device).flatten()",
        "torch.tensor(reward, dtype=torch.float64).to(device)",
    ],
)
@pytest.mark.parametrize("control", ["pass", "if done: break", "if done: continue"])
@pytest.mark.parametrize("seed", range(3))
def test_host_buffer(value: str, control: str, seed: int) -> None:
    source = rollout(value=value, control=control)
    assert same(source, seed, 0, unsafe=True)
    assert ("rewards_host" in migrated(source)) is ("torch.Tensor(" in value)


@pytest.mark.parametrize(
    "parts",
    [
        {"inside": "log.add('r', rewards[0].tolist())"},
        {"before": "view = rewards.view(-1)", "inside": "log.add('v', view.sum())"},
        {"before": "log.add('kept', rewards)"},
        {"index": "0"},
        {"index": "step % 2"},
        {"inside": "step = 0"},
        {"control": "rewards[step] *= 2"},
        {"before": "peek = lambda: rewards.sum()", "inside": "log.add('p', peek())"},
        {"before": "rewards = rewards + 1"},
        {"control": "if done: raise ValueError(step)"},
    ],
    ids=str,
)
def test_host_buffer_refusals_and_exceptions(parts: dict[str, str]) -> None:
    changed = same(rollout(**parts), 2, 0, unsafe=True)
    assert changed is ("raise" in str(parts))


def test_torch_is_the_one_of_the_program() -> None:
    assert torch.get_num_threads() == 1
