"""A whole PPO on the simulated NPU, before and after: the same output, byte for byte, with fewer syncs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.migrate.sync.equal import migrated

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class Env:
    def __init__(self, n):
        self.rng = np.random.default_rng(0)
        self.n = n

    def step(self, action):
        return self.rng.normal(size=(self.n, 4)), self.rng.normal(size=self.n), np.zeros(self.n), {}


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 3)
        self.critic = nn.Linear(4, 1)

    def act(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def main(updates=2, steps=8, n=4):
    torch.manual_seed(1)
    np.random.seed(1)
    device = torch.device("npu")
    agent = Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    envs = Env(n)
    obs = torch.zeros((steps, n, 4)).to(device)
    actions = torch.zeros((steps, n)).to(device)
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
            next_obs, reward, done, info = envs.step(action.cpu().numpy())
            rewards[step] = torch.Tensor(reward).to(device).view(-1)
            next_obs = torch.Tensor(next_obs).to(device)
        returns = rewards + values * 0.9
        b_obs = obs.reshape(-1, 4)
        b_actions = actions.reshape(-1)
        b_logprobs = logprobs.reshape(-1)
        b_returns = returns.reshape(-1)
        b_inds = np.arange(steps * n)
        clipfracs = []
        total = 0.0
        for epoch in range(2):
            np.random.shuffle(b_inds)
            for start in range(0, steps * n, 8):
                mb_inds = b_inds[start:start + 8]
                _, newlogprob, entropy, newvalue = agent.act(b_obs[mb_inds], b_actions.long()[mb_inds])
                logratio = newlogprob - b_logprobs[mb_inds]
                ratio = logratio.exp()
                with torch.no_grad():
                    clipfracs += [((ratio - 1.0).abs() > 0.001).float().mean().item()]
                pg_loss = -(b_returns[mb_inds] * ratio).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb_inds]) ** 2).mean()
                loss = pg_loss + v_loss - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
        print(repr(np.mean(clipfracs)), repr(total), repr(v_loss.item()), repr(pg_loss.item()))
    for p in agent.parameters():
        print(p.detach().cpu().flatten().tolist())


main()
"""


def simulate(run_cli: RunCli, folder: Path, name: str, source: str) -> tuple[str, Counter[str]]:
    """What the program prints, and the waits by kind (simulated), uploads among them."""
    script, result = folder / f"{name}.py", folder / f"{name}.json"
    script.write_text(source)
    done = run_cli("simulate", "--json", "-o", result, script)
    assert done.returncode == 0, done.stderr
    kinds: Counter[str] = Counter()
    for line in json.loads(result.read_text())["extra"]["simulation"]["lines"]:
        kinds.update(line["kinds"])
        kinds["upload"] += line["h2d"]
    return done.stdout, kinds


@pytest.fixture(scope="module")
def runs(run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Counter[str]]]:
    folder = tmp_path_factory.mktemp("ppo")
    sources = {"before": PROGRAM, "safe": migrated(PROGRAM), "unsafe": migrated(PROGRAM, unsafe=True)}
    return {name: simulate(run_cli, folder, name, source) for name, source in sources.items()}


def test_every_printed_number_and_weight_is_the_same(runs: dict[str, tuple[str, Counter[str]]]) -> None:
    before = runs["before"][0]
    assert "np.float64" in before
    assert runs["safe"][0] == before
    assert runs["unsafe"][0] == before


def test_safe_rewrites_take_the_reads_out_of_the_minibatch_loop(
    runs: dict[str, tuple[str, Counter[str]]],
) -> None:
    before, safe, unsafe = (runs[name][1] for name in ("before", "safe", "unsafe"))
    # 2 updates of 8 minibatches: clip fraction and loss of each, and two losses per update.
    assert before["item"] == 2 * (2 * 8 + 2)
    assert safe["item"] == 0
    assert safe["upload"] < before["upload"] - 2 * 8 * 3  # six uploads of each index became one
    assert before["bool"] == 2 * 2 * (8 + 8)
    assert unsafe["bool"] == 2  # one finite check per update took their place
