"""The reference policy as one graph: raw observation in, action of the environment out.

This module imports torch; `source` imports it only once torch is known to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from npudoctor.export.source import Source

FIRST_SEED = 1_000_000  # the episodes that reference_ppo evaluates on


class PolicyGraph(nn.Module):
    """Normalise, act, squash or clip, and stretch: what `reference_ppo` does from observation to action.

    The weights are cut out of the policy's flat vector once, so that the graph holds one
    constant per layer instead of slices of one. Of the two networks that training computes as a
    batch of two, only the one that acts is in the graph.
    """

    shift: Tensor
    scale: Tensor
    bounded: Tensor
    low: Tensor
    reach: Tensor

    def __init__(self, policy: Any, normalizer: Any) -> None:
        super().__init__()
        self.spec, self.memory, self.enabled = policy.spec, policy.state_size > 0, normalizer.enabled
        constants = {name: value.detach().clone() for name, value in policy.weights().items()}
        layers = range(1, policy.hidden + 1)
        self.layers = [(constants[f"w{i}"][0].clone(), constants[f"b{i}"][0, 0].clone()) for i in layers]
        policy.weights, policy.heads = lambda: constants, self._heads
        self.policy, self.squash = policy, policy.squash
        self.register_buffer("shift", torch.from_numpy(np.asarray(normalizer.shift, np.float32)))
        self.register_buffer("scale", torch.from_numpy(np.asarray(normalizer.scale, np.float32)))
        spec = policy.spec
        bounded = np.isfinite(spec.low) & np.isfinite(spec.high)
        low, high = np.where(bounded, spec.low, -1.0), np.where(bounded, spec.high, 1.0)
        self.plain = bool(np.all(bounded) and np.all(low == -1.0) and np.all(high == 1.0))
        self.register_buffer("bounded", torch.from_numpy(bounded))
        self.register_buffer("low", torch.from_numpy(low.astype(np.float32)))
        self.register_buffer("reach", torch.from_numpy((0.5 * (high - low)).astype(np.float32)))

    def forward(self, obs: Tensor, state: Tensor | None = None) -> Any:
        """Raw observations (B, D), memory (B, S) -> actions (B, K) or choices (B,), and the new memory."""
        s = torch.clip((obs - self.shift) * self.scale, -10.0, 10.0) if self.enabled else obs
        memory = obs[:, :0] if state is None else state
        out, memory = self.policy.mode(s, memory)
        action = self._choice(out) if self.spec.discrete else self._bounded(out)
        return (action, memory) if self.memory else action

    def _heads(self, x: Tensor, weights: dict[str, Tensor]) -> tuple[Any, Tensor]:
        """In place of `Policy.heads`: the action distribution alone; nobody asks for the value."""
        from reference_ppo.distribution import Categorical, Gaussian

        for weight, bias in self.layers:
            x = self.policy.tanh(torch.addmm(bias, x, weight))
        out = nn.functional.linear(x, weights["pi.w"], weights["pi.b"])
        one = Categorical(out) if self.spec.discrete else Gaussian(out, weights["log_std"], self.squash)
        return one, out[:, 0]

    def _choice(self, out: Tensor) -> Tensor:
        return out[:, 0].to(torch.int64) + self.spec.start

    def _bounded(self, out: Tensor) -> Tensor:
        out = torch.tanh(out) if self.squash else out
        clipped = torch.clip(out, -1.0, 1.0)
        if self.plain:
            return clipped
        stretched = self.low + (clipped + 1.0) * self.reach
        return torch.where(self.bounded, stretched, out)


def policy_class(config: Any) -> Any:
    """The class of the policy that a configuration trains."""
    from reference_ppo.policy import Policy

    if getattr(config, "recurrent", False):
        from reference_ppo.recurrent import RecurrentPolicy

        return RecurrentPolicy
    return Policy


def real_inputs(source: Source, config: Any, count: int) -> tuple[Any, ...]:
    """`count` rows of every input, met while the torch policy drives the environment."""
    from reference_ppo.envs.make import make_envs

    envs = make_envs(config, 8)
    try:
        seeds: Any = [FIRST_SEED + i for i in range(8)]
        obs, _ = envs.reset(seed=seeds)
        inputs = [
            np.asarray(obs, np.float32),
            *(np.zeros((8, t.shape[1]), np.float32) for t in source.inputs[1:]),
        ]
        rows: list[list[Any]] = []
        while sum(len(r[0]) for r in rows) < count:
            rows.append([i.copy() for i in inputs])
            action, *memory = source.call(*inputs)
            obs, _, terminated, truncated, _ = envs.step(action)
            keep = ~(terminated | truncated)[:, None]
            inputs = [np.asarray(obs, np.float32), *(m * keep for m in memory)]
    finally:
        envs.close()
    return tuple(np.concatenate(column)[:count] for column in zip(*rows))
