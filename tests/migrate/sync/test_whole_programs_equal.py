"""Random PPO programs, run before and after on the simulated NPU: the same bits, never more waits."""

from __future__ import annotations

import textwrap

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from tests.migrate.sync.device import Device
from tests.migrate.sync.equal import PROGRAMS, migrated

PROGRAM = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal


class Env:
    def __init__(self, seed, n):
        self.rng = np.random.default_rng(seed)
        self.n = n

    def step(self, action):
        shift = float(np.asarray(action, dtype=np.float64).sum())
        obs = self.rng.normal(size=(self.n, 4)) + shift * 0.01
        return obs, self.rng.normal(size=self.n) + shift, self.rng.random(self.n) < 0.1, {{}}


class Log(list):
    def add(self, *values):
        self.append(values)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 3)
        self.critic = nn.Linear(4, 1)

    def act(self, x, action=None):
        {policy}
        if action is None:
            action = probs.sample()
        return action, {logprob}, probs.entropy(), self.critic(x)


def program(seed, where, updates=2, steps=3, n=2):
    torch.manual_seed(seed)
    np.random.seed(seed)
    device = torch.device(where)
    agent = Agent().to(device)
    optimizer = torch.optim.SGD(agent.parameters(), lr=0.05)
    envs = Env(seed, n)
    log, kept = Log(), Log()
    target_kl = 0.05
    obs = torch.zeros((steps, n, 4)).to(device)
    actions = torch.zeros((steps, n) + {shape}).to(device)
    logprobs = torch.zeros((steps, n)).to(device)
    rewards = torch.zeros((steps, n)).to(device)
    values = torch.zeros((steps, n)).to(device)
    next_obs = torch.zeros((n, 4)).to(device)
    for update in range(updates):
        for step in range(steps):
            obs[step] = next_obs
            with torch.no_grad():
                action, logprob, _, value = agent.act(next_obs)
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
{copies}
            rewards[step] = {reward}
            next_obs = torch.Tensor(next_obs).to(device)
        returns = rewards + values * 0.9
        b_obs = obs.reshape(-1, 4)
        b_actions = actions.reshape((-1,) + {shape})
        b_logprobs = logprobs.reshape(-1)
        b_returns = returns.reshape(-1)
        b_inds = np.arange(steps * n)
{start}
        for epoch in range(2):
            np.random.shuffle(b_inds)
            for start in range(0, steps * n, 3):
                mb_inds = b_inds[start:start + 3]
                _, newlogprob, entropy, newvalue = agent.act(b_obs[mb_inds], b_actions{cast}[mb_inds])
                logratio = newlogprob - b_logprobs[mb_inds]
                ratio = logratio.exp()
                approx_kl = ((ratio - 1) - logratio).mean()
                pg_loss = -(b_returns[mb_inds] * ratio).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb_inds]) ** 2).mean()
                optimizer.zero_grad()
{backward}
                optimizer.step()
{metrics}
{epoch_end}
{report}
    return list(log), list(kept), list(agent.parameters()), rewards, values
"""
POLICIES = (
    ("probs = Categorical(logits=self.actor(x))", "probs.log_prob(action)", "()", ".long()"),
    ("probs = Normal(self.actor(x), 1.0)", "probs.log_prob(action).sum(1)", "(3,)", ""),
)
COPIES = (
    "next_obs, reward, done, info = envs.step(action.cpu().numpy())",
    "kept.add(action.cpu().numpy(), value.flatten().cpu().numpy(), logprob.cpu().numpy())\n"
    "next_obs, reward, done, info = envs.step(kept[-1][0])",
    "a = action.cpu().numpy()\nlogp = logprob.cpu().numpy()\nv = value.cpu().numpy()\n"
    "next_obs, reward, done, info = envs.step(a)\nkept.add(logp, v)",
    "next_obs, reward, done, info = envs.step(action.cpu().numpy())\nkept.add(value.cpu().numpy().mean())",
)
REWARDS = ("torch.tensor(reward).to(device).view(-1)", "torch.Tensor(reward).to(device)")
BACKWARD = (
    "loss = pg_loss + v_loss - 0.01 * entropy.mean()\nloss.backward()",
    "(pg_loss + v_loss * 0.5 - 0.01 * entropy.mean()).backward()",
    "loss = pg_loss - 0.01 * entropy.mean()\nloss.backward(retain_graph=True)\n(v_loss * 0.5).backward()",
)
START = "clipfracs, losses = [], []\ntotal, count, drift = 0.0, 0, 0.0\nstats = {'v': [], 'pg': 0.0}"
METRICS = (
    "clipfracs += [((ratio - 1.0).abs() > 0.001).float().mean().item()]",
    "losses.append(pg_loss.item())",
    "losses.append(v_loss.item() / len(mb_inds))",
    "total += v_loss.item()",
    "total += pg_loss.item() * ratio.size(0)",
    "drift -= approx_kl.item()",
    "stats['v'].append(v_loss.item())",
    "stats['pg'] += pg_loss.item() * (count + 1)",
    "count += 1",
    "with torch.no_grad():\n    v_loss += 1",
    "if approx_kl > target_kl:\n    count += 10",
)
EPOCH_END = ("pass", "if approx_kl > target_kl:\n    break", "log.add(total)", "log.add(len(losses))")
REPORT = (
    "log.add('v', v_loss.item())\nlog.add('pg', pg_loss.item())\nlog.add('kl', approx_kl.item())",
    "log.add(pg_loss.item(), v_loss.item())",
    "pass",
)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
LAST = "log.add(np.mean(clipfracs) if clipfracs else None, losses, total, count, drift, dict(stats))"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A PPO whose parts are each written in one of the ways people write them."""
    policy, logprob, shape, cast = draw(st.sampled_from(POLICIES))
    metrics = draw(st.lists(st.sampled_from(METRICS), min_size=2, max_size=6))

    def at(depth: int, text: str) -> str:
        return textwrap.indent(text, " " * 4 * depth)

    return PROGRAM.format(
        policy=policy,
        logprob=logprob,
        shape=shape,
        cast=cast,
        copies=at(3, draw(st.sampled_from(COPIES))),
        reward=draw(st.sampled_from(REWARDS)),
        start=at(2, START),
        backward=at(4, draw(st.sampled_from(BACKWARD))),
        metrics=at(4, "\n".join(metrics)),
        epoch_end=at(3, draw(st.sampled_from(EPOCH_END))),
        report=at(2, draw(st.sampled_from(REPORT)) + "\n" + LAST),
    )


@settings(max_examples=8 * PROGRAMS, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(source=programs(), seed=st.integers(0, 99), unsafe=st.booleans())
def test_whole_programs_give_the_same_bits(device: Device, source: str, seed: int, unsafe: bool) -> None:
    after = migrated(source, unsafe=unsafe)
    before, now = device.run(source, seed, "npu"), device.run(after, seed, "npu")
    event(f"waits: {'fewer' if now[1] < before[1] else 'as many'}")
    assert "raised" not in before[0][:20], before[0]
    assert now[0] == before[0], f"\n{source}\n---- became ----\n{after}"
    assert now[1] <= before[1]
