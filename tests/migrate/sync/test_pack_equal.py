"""Packed host copies: programs run before and after on the simulated NPU and on the host, bit for bit."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from tests.migrate.sync.device import Device
from tests.migrate.sync.equal import PROGRAMS, migrated, outcome

HEAD = '''
"""A rollout."""
from collections import deque

import numpy as np
import torch

DTYPES = {"float": torch.float32, "half": torch.float16, "int": torch.int64, "bool": torch.bool}


class Env:
    def __init__(self, held):
        self.held = held

    def step(self, action):
        self.held["action"].mul_(-1)
        return np.ones(2), 0.0, False, {}


class Buffer(list):
    def add(self, *values):
        self.extend(values)


class Store:
    def __init__(self):
        self.values = np.zeros((8, 3))
        self.other = []


def program(seed, where, kinds, layout):
    torch.manual_seed(seed)
    device = torch.device(where)
    made = [torch.randn(3, 4).mul(9).to(device).to(DTYPES[kind]) for kind in kinds]
    if layout == "transposed":
        made[0] = made[0].t()
    elif layout == "sliced":
        made[1] = made[1][::2, 1:]
    elif layout == "grad" and made[2].is_floating_point():
        made[2] = made[2].clone().requires_grad_()
    action, logprob, value = made
    held = {"action": action, "logprob": logprob, "value": value}
    env = Env(held)
    buffer = Buffer()
    store = Store()
    log = []
    kept = deque(maxlen=9)
'''
TAIL = """
    log.append((buffer, store.values, store.other, list(kept), action, logprob))
    log.append([v.flags.c_contiguous for v in buffer if isinstance(v, np.ndarray)])
    log.append([v.strides for v in buffer if isinstance(v, np.ndarray)])
    return log
"""
TENSORS = (
    "action",
    "logprob",
    "value.detach()",
    "action.flatten()",
    "logprob[0]",
    "logprob[:, 1]",
    "action.clone()",
    "held['value'].detach()",
    "action.float().mean()",
    "(action * 2)",
    "logprob.sum(1)",
    "action.t()",
    "torch.argmax(action.float(), dim=1)",
    "value.data",
)
ENDS = (
    ".cpu().numpy()",
    ".cpu().numpy()",
    ".cpu().numpy().flatten()",
    ".cpu().detach().numpy()",
    ".cpu().data.numpy()",
    ".cpu().tolist()",
    ".to('cpu').numpy()",
    ".detach().to('cpu').tolist()",
    ".cpu()",
    ".detach().cpu().numpy()[0]",
    ".cpu().numpy().astype(np.float64)",
)
USES = (
    "a = {0}",
    "b = {0}",
    "buffer.add({0}, {1})",
    "buffer.add({0}, step, {1}, {2})",
    "buffer.add({0})",
    "store.values[step] = np.mean({0})",
    "store.other.append({0})",
    "kept.append({0})",
    "kept.extend([{0}])",
    "log.append(({0}, {1}))",
    "obs, reward, done, info = env.step({0})",
    "buffer += [{0}, {1}]",
    "log.append({{'a': {0}, 'b': {1}}})",
    "log.append([v for v in (1, 2) if v] + [{0} if step else {1}])",
    "buffer.extend([{0}, {1}])\nbuffer[-1] *= 2",
)
OTHER = (
    "action = action + 1",
    "action += 1",
    "logprob.mul_(2)",
    "held['action'] = action * 2",
    "value = value.detach().reshape(4, 3)",
    "a = 0",
    "# a comment",
    "if step:\n    logprob = logprob * 1",
    "env.step(0)",
)
copied = st.builds(lambda t, e: t + e, st.sampled_from(TENSORS), st.sampled_from(ENDS))
use = st.builds(lambda form, a, b, c: form.format(a, b, c), st.sampled_from(USES), copied, copied, copied)
body = st.lists(st.one_of(use, use, st.sampled_from(OTHER)), min_size=1, max_size=5)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
KINDS = ("float", "half", "int", "int")


def build(statements: list[str]) -> str:
    inner = textwrap.indent("\n".join([*statements, "env.step(0)"]), "        ")
    return HEAD + "    for step in range(2):\n" + inner + TAIL


@settings(max_examples=40 * PROGRAMS, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(
    statements=body,
    seed=st.integers(0, 9),
    kinds=st.lists(st.sampled_from(KINDS), min_size=3, max_size=3),
    layout=st.sampled_from(("plain", "plain", "transposed", "sliced", "grad")),
)
def test_random_rollouts_give_the_same_bits(
    device: Device, statements: list[str], seed: int, kinds: list[str], layout: str
) -> None:
    source = build(statements)
    after = migrated(source)
    event(f"rewritten: {after != source}")
    if after == source:
        return
    before = device.run(source, seed, "npu", kinds, layout)
    now = device.run(after, seed, "npu", kinds, layout)
    assert now[0] == before[0], f"\n{source}\n---- became ----\n{after}"
    if "'raised'" not in before[0]:  # a program that fails may fail after one copy more
        assert now[1] <= before[1]
    on_host = (seed, "cpu", kinds, layout)
    assert outcome(after, *on_host)[0] == outcome(source, *on_host)[0], f"\n{source}\n----\n{after}"


STEP = "buffer.add(action.cpu().numpy(), logprob.cpu().numpy(), value.detach().flatten().cpu().numpy())"


@pytest.mark.parametrize(
    ("kinds", "copies"),
    [
        (["float", "float", "float"], 1),
        (["int", "float", "float"], 2),
        (["int", "half", "float"], 3),
        (["half", "half", "int"], 2),
    ],
    ids=str,
)
def test_one_transfer_for_each_dtype(device: Device, kinds: list[str], copies: int) -> None:
    source = build([STEP])
    after = migrated(source)
    before, now = (device.run(text, 1, "npu", kinds, "plain") for text in (source, after))
    assert now[0] == before[0]
    assert (before[1], now[1]) == (before[1], before[1] - 2 * (3 - copies))


def test_the_comparison_can_fail(device: Device) -> None:
    """Packing of different dtypes as a person would first write it changes the numbers, and that is seen."""
    source = build([STEP])
    wrong = migrated(source).replace("(x.device, x.dtype)", "x.device")
    right, other = (
        device.run(text, 1, "npu", ["int", "float", "float"], "plain") for text in (source, wrong)
    )
    assert right[0] != other[0]


@pytest.mark.parametrize(
    "statements",
    [
        ["a = action.cpu().numpy()", "env.step(a)", "b = logprob.cpu().numpy()"],
        ["a = action.cpu().numpy()", "logprob.mul_(2)", "b = logprob.cpu().numpy()"],
        ["a = action.cpu().numpy()", "logprob = logprob + 1", "b = logprob.cpu().numpy()"],
        ["a = action.cpu().numpy()", "logprob += 1", "b = logprob.cpu().numpy()"],
        ["a = action.cpu().numpy()", "held['x'] = 1", "b = logprob.cpu().numpy()"],
        ["log.append((action.cpu().numpy(), env.step(0), logprob.cpu().numpy()))"],
        ["log.append((action.cpu().numpy(), logprob.cpu().numpy() if step else 0))"],
        ["log.append([t.cpu().numpy() for t in (action, logprob)])"],
        ["a, b = action.cpu(), logprob.cpu()"],
        ["a = torch.argmax(action, 1).cpu().numpy()", "b = logprob.exp().cpu().numpy()"],
        ["a = action.cpu().numpy()"],
        ["log.append(((action := action + 1).cpu().numpy(), action.cpu().numpy()))"],
        ["log.append((*(env.step(i) for i in (0, 1)), action.cpu().numpy(), logprob.cpu().numpy()))"],
        ["log.append((action.cpu().numpy(), [env.step(i) for i in (0, 1)], logprob.cpu().numpy()))"],
        ["try:\n    a, b = action.cpu().numpy(), logprob.cpu().numpy()\nexcept ValueError:\n    a = 0"],
        ["a = env.step(0)[0].cpu().numpy()", "b = env.step(1)[0].cpu().numpy()"],
        ["a = action.cpu().numpy().sort()", "b = logprob.clone().cpu().numpy()"],
    ],
    ids=lambda s: "; ".join(s)[:60],
)
def test_what_is_left_as_it_is(statements: list[str]) -> None:
    source = build(statements)
    assert migrated(source) == source


@pytest.mark.parametrize(
    "between",
    [
        "x = F.relu(value, inplace=True)",
        "x = F.silu(value, True)",
        "x = F.leaky_relu(value, 0.5, flag)",
        "x = value.requires_grad_()",
        "np.copyto(array, 1)",
        "x = torch.relu_(value)",
        "x = torch.bernoulli(value)",
    ],
)
def test_what_writes_or_draws_stands_between(between: str) -> None:
    head = "import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\n"
    source = head + (
        "def collect(env, agent, array, flag, n):\n"
        "    for step in range(n):\n"
        "        action, value = agent.act(array)\n"
        "        a = action.cpu().numpy()\n"
        f"        {between}\n"
        "        v = (value + 0).cpu().numpy()\n"
        "        obs, reward, done, info = env.step(a)\n"
    )
    assert migrated(source) == source
    assert migrated(source.replace(f"        {between}\n", "")) != source


@pytest.mark.parametrize(
    ("second", "joined"),
    [
        ("kept[-1]", False),
        ("obs[len(kept)]", False),
        ("value", True),
        ("value.flatten()", True),
        ("value.sum(0)", True),
        ("torch.stack(kept)", False),
    ],
)
def test_a_list_that_grows_between(second: str, joined: bool) -> None:
    source = (
        "import torch\n\n\n"
        "def collect(env, agent, obs, n):\n"
        "    kept = []\n"
        "    for step in range(n):\n"
        "        action, value = agent.act(obs)\n"
        "        a = action.cpu().numpy()\n"
        "        kept.append(value)\n"
        f"        v = {second}.cpu().numpy()\n"
        "        obs, reward, done, info = env.step(a)\n"
    )
    assert (migrated(source) != source) is joined
