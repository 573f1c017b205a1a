"""PPO in the shape of CleanRL's continuous-action script: same sizes, wrappers and operators.

One iteration; the device from BENCH_DEVICE. Written for benchmarks/simulate.py.
"""

from __future__ import annotations

import os
import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions.normal import Normal

STEPS, EPOCHS, MINIBATCHES = 2048, 10, 32  # the script's own defaults
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


def make_env() -> gym.Env:
    """Pendulum under the wrappers that such scripts use."""
    env = gym.wrappers.FlattenObservation(gym.make("Pendulum-v1"))
    env = gym.wrappers.ClipAction(gym.wrappers.RecordEpisodeStatistics(env))
    env = gym.wrappers.NormalizeObservation(env)
    env = gym.wrappers.TransformObservation(env, lambda x: np.clip(x, -10, 10), env.observation_space)
    return gym.wrappers.TransformReward(gym.wrappers.NormalizeReward(env), lambda r: np.clip(r, -10, 10))


class Agent(nn.Module):
    """Two networks of two hidden layers; state-independent standard deviation."""

    def __init__(self) -> None:
        super().__init__()
        self.critic, self.mean = (
            nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
            for _ in range(2)
        )
        self.logstd = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x: torch.Tensor, action: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        mean = self.mean(x)
        chosen = Normal(mean, torch.exp(self.logstd.expand_as(mean)))
        action = chosen.sample() if action is None else action
        return action, chosen.log_prob(action).sum(1), chosen.entropy().sum(1), self.critic(x)


def main() -> None:
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    device = torch.device(os.environ.get("BENCH_DEVICE", "cpu"))
    env, agent = gym.vector.SyncVectorEnv([make_env]), Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
    obs = torch.zeros((STEPS, 1, 3)).to(device)
    actions = torch.zeros((STEPS, 1, 1)).to(device)
    logprobs, rewards, dones, values = (torch.zeros((STEPS, 1)).to(device) for _ in range(4))
    next_obs, next_done = torch.Tensor(env.reset(seed=1)[0]).to(device), torch.zeros(1).to(device)
    for step in range(STEPS):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent(next_obs)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        seen, reward, ended, cut, _ = env.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).to(device).view(-1)
        next_obs, next_done = torch.Tensor(seen).to(device), torch.Tensor(ended | cut).to(device)
    with torch.no_grad():
        last = agent.critic(next_obs).reshape(1, -1)
        advantages, running = torch.zeros_like(rewards).to(device), 0
        for t in reversed(range(STEPS)):
            alive = 1.0 - (next_done if t == STEPS - 1 else dones[t + 1])
            following = last if t == STEPS - 1 else values[t + 1]
            delta = rewards[t] + GAMMA * following * alive - values[t]
            advantages[t] = running = delta + GAMMA * LAMBDA * alive * running
        returns = advantages + values
    update(agent, optimizer, obs.reshape(-1, 3), actions.reshape(-1, 1), logprobs.reshape(-1),
           advantages.reshape(-1), returns.reshape(-1), values.reshape(-1))
    print(sum(p.sum().item() for p in agent.parameters()))


def update(agent, optimizer, obs, actions, logprobs, advantages, returns, values) -> None:  # type: ignore
    """Ten epochs over shuffled minibatches with the clipped losses."""
    order, fractions = np.arange(STEPS), []
    for _ in range(EPOCHS):
        np.random.shuffle(order)
        for start in range(0, STEPS, STEPS // MINIBATCHES):
            picked = order[start : start + STEPS // MINIBATCHES]
            _, logprob, entropy, value = agent(obs[picked], actions[picked])
            difference = logprob - logprobs[picked]
            ratio = difference.exp()
            with torch.no_grad():
                (-difference).mean(), ((ratio - 1) - difference).mean()  # two estimates of the KL divergence
                fractions += [((ratio - 1.0).abs() > CLIP).float().mean().item()]
            gain = advantages[picked]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy_loss = torch.max(-gain * ratio, -gain * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()
            value = value.view(-1)
            near = values[picked] + torch.clamp(value - values[picked], -CLIP, CLIP)
            worst = torch.max((value - returns[picked]) ** 2, (near - returns[picked]) ** 2)
            loss = policy_loss + 0.5 * 0.5 * worst.mean() - 0.0 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


if __name__ == "__main__":
    main()
