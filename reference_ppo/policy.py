"""Policy pi_theta(a|s) and value function V_theta(s): two small networks, all weights in one vector theta.

One vector, as on paper, is also what an accelerator likes: one kernel for the gradient norm, one for Adam,
one message for the all-reduce, one copy to move or save the policy.
"""

from __future__ import annotations

import math
from typing import Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_ppo.distribution import Categorical, Gaussian
from reference_ppo.envs.make import Spec

Shapes = dict[str, tuple[int, ...]]


class Policy(nn.Module):
    """Separate tanh networks for the action distribution (`pi`) and the value (`v`)."""

    def __init__(
        self,
        spec: Spec,
        hidden: tuple[int, ...] = (64, 64),
        log_std: float = 0.0,
        squash: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.spec, self.layers, self.squash = spec, len(hidden) + 1, squash
        self.shapes = network_shapes(spec, hidden)
        rng = np.random.default_rng([seed, 1])
        initial = np.concatenate([self.initial(name, rng, log_std).ravel() for name in self.shapes])
        self.theta = nn.Parameter(torch.from_numpy(initial))

    def initial(self, name: str, rng: np.random.Generator, log_std: float) -> NDArray[np.float32]:
        """Orthogonal weights, gain sqrt 2 (0.01 for the policy head, 1 for the value head); zero biases."""
        shape = self.shapes[name]
        if name == "log_std":
            return np.full(shape, log_std, np.float32)
        if len(shape) == 1:
            return np.zeros(shape, np.float32)
        gain = {f"pi.w{self.layers}": 0.01, f"v.w{self.layers}": 1.0}.get(name, math.sqrt(2.0))
        return orthogonal(shape, gain, rng)

    def weights(self) -> dict[str, Tensor]:
        """Views of theta by name; no copy."""
        parts = self.theta.split([math.prod(shape) for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts)}

    def forward(self, s: Tensor) -> tuple[Union[Gaussian, Categorical], Tensor]:
        """States (B, D) -> action distribution and V(s) (B,)."""
        w = self.weights()
        out = tower(s, w, "pi", self.layers)  # (B, K)
        v = tower(s, w, "v", self.layers).squeeze(-1)  # (B,)
        return (Categorical(out) if self.spec.discrete else Gaussian(out, w["log_std"], self.squash)), v

    def act(self, s_noise: Tensor) -> Tensor:
        """States and noise side by side, (N, D + K) -> action, log-probability and value, (N, 1 or K, + 2).

        Packed both ways, so that a vector step costs one copy to the device and one copy back.
        """
        pi, v = self(s_noise[:, : self.spec.obs_dim])
        a = pi.sample(s_noise[:, self.spec.obs_dim :])
        return torch.cat([a, pi.log_prob(a)[:, None], v[:, None]], 1)

    def value(self, s: Tensor) -> Tensor:
        """(B, D) -> (B,)."""
        return tower(s, self.weights(), "v", self.layers).squeeze(-1)

    def mode(self, s: Tensor) -> Tensor:
        """Most likely action, (B, D) -> (B, 1 or K): what evaluation uses."""
        out = tower(s, self.weights(), "pi", self.layers)
        return out.argmax(-1, keepdim=True).to(s.dtype) if self.spec.discrete else out


def network_shapes(spec: Spec, hidden: tuple[int, ...]) -> Shapes:
    """Names and shapes of all weights, in the order in which they lie in theta."""
    shapes: Shapes = {}
    for net, out in (("pi", spec.act_dim), ("v", 1)):
        sizes = (spec.obs_dim, *hidden, out)
        for i in range(len(hidden) + 1):
            shapes[f"{net}.w{i + 1}"] = (sizes[i + 1], sizes[i])
            shapes[f"{net}.b{i + 1}"] = (sizes[i + 1],)
    if not spec.discrete:
        shapes["log_std"] = (spec.act_dim,)
    return shapes


def tower(x: Tensor, w: dict[str, Tensor], net: str, layers: int) -> Tensor:
    """tanh network: (B, D) -> (B, outputs)."""
    for i in range(1, layers):
        x = torch.tanh(linear(x, w[f"{net}.w{i}"], w[f"{net}.b{i}"]))
    return linear(x, w[f"{net}.w{layers}"], w[f"{net}.b{layers}"])


def orthogonal(shape: tuple[int, ...], gain: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """A random matrix with orthonormal rows or columns, times `gain` (arXiv:1312.6120)."""
    rows, columns = shape
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return (gain * (q if rows >= columns else q.T)).astype(np.float32)
