"""Policy pi_theta(a|s) and value function V_theta(s): two small networks, all weights in one vector theta.

One vector, as on paper, is also what an accelerator likes: one kernel for the gradient norm, one for Adam,
one message for the all-reduce, one copy to move or save the policy. For the same reason the two networks,
which have the same hidden layers and read the same input, are computed as a batch of two: one product of
(2, B, in) with (2, in, out) per layer, where [0] is the policy's and [1] the value function's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_ppo.distribution import Categorical, Gaussian
from reference_ppo.envs.make import Spec

if TYPE_CHECKING:
    from reference_ppo.buffer import Buffer

TWO, MINUS_ONE = torch.tensor(2.0), torch.tensor(-1.0)  # a number of Python's would become one at every use
Distribution = Union[Gaussian, Categorical]
Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, Tensor]


class Policy(nn.Module):
    """Separate tanh networks for the action distribution (`pi`) and the value (`v`)."""

    state_size = 0
    """S: numbers of memory per environment."""
    sequence = 1
    """Steps per row of a batch."""
    tanh: Callable[[Tensor], Tensor] = staticmethod(torch.tanh)

    def __init__(
        self,
        spec: Spec,
        hidden: tuple[int, ...] = (64, 64),
        log_std: float = 0.0,
        squash: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.spec, self.hidden, self.squash = spec, len(hidden), squash
        self.shapes = self.shapes_of(hidden)
        self.sizes = [math.prod(shape) for shape in self.shapes.values()]
        rng = np.random.default_rng([seed, 1])
        initial = np.concatenate([self.initial(name, rng, log_std).ravel() for name in self.shapes])
        self.theta = nn.Parameter(torch.from_numpy(initial))

    def shapes_of(self, hidden: tuple[int, ...]) -> Shapes:
        """Names and shapes of all weights, in the order in which they lie in theta."""
        return network_shapes(self.spec, self.spec.obs_dim, hidden)

    def initial(self, name: str, rng: np.random.Generator, log_std: float) -> NDArray[np.float32]:
        """Orthogonal weights, gain sqrt 2 (0.01 for the policy head, 1 for the value head); zero biases."""
        shape = self.shapes[name]
        if name == "log_std":
            return np.full(shape, log_std, np.float32)
        if name in ("pi.w", "v.w"):
            return orthogonal(shape, {"pi.w": 0.01, "v.w": 1.0}[name], rng)
        if name.startswith("w"):
            return np.stack([orthogonal(shape[1:], math.sqrt(2.0), rng) for _ in ("pi", "v")])
        return np.zeros(shape, np.float32)

    def weights(self) -> Weights:
        """Views of theta by name; no copy."""
        return self.cut(self.theta)

    def cut(self, theta: Tensor) -> Weights:
        """The same of any vector (P,)."""
        parts = zip(self.shapes.items(), theta.split(self.sizes))
        return {name: part.view(shape) if len(shape) > 1 else part for (name, shape), part in parts}

    def forward(self, s: Tensor) -> tuple[Distribution, Tensor]:
        """States (B, D) -> action distribution and V(s) (B,)."""
        return self.heads(s, self.weights())

    def heads(self, x: Tensor, w: Weights) -> tuple[Distribution, Tensor]:
        """The two networks on their common input (B, D)."""
        x = x.expand(2, *x.shape)  # (2, B, D), no copy
        for i in range(1, self.hidden + 1):
            x = self.tanh(torch.baddbmm(w[f"b{i}"], x, w[f"w{i}"]))  # tanh(x W + b), (2, B, H)
        x_pi, x_v = x.unbind()
        out = linear(x_pi, w["pi.w"], w["pi.b"])  # x W^T + b, (B, K)
        v = linear(x_v, w["v.w"], w["v.b"]).squeeze(-1)  # (B,)
        return (Categorical(out) if self.spec.discrete else Gaussian(out, w["log_std"], self.squash)), v

    # What the rollout asks for. `state` (N, S) is the memory of a recurrent policy; here S = 0.

    def act(self, x: Tensor, state: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
        """Act for N environments at once.

        Args:
            x: s | noise | keep, (N, D + K + 1); keep is 0 where a new episode has begun, else 1.
            state: (N, S).
            w: `weights()`, cut once per rollout.

        Returns:
            a | log pi(a|s) | V(s), (N, K + 2) or (N, 1 + 2) for choices, and the new state. Packed both ways,
            so that a vector step costs one copy to the device and one copy back.
        """
        d, k = self.spec.obs_dim, self.spec.act_dim
        pi, v = self.heads(x[:, :d], w)
        return pack_action(pi, v, x[:, d : d + k]), state

    def value(self, s: Tensor, state: Tensor) -> Tensor:
        """V of states that are not acted on, (B, D) -> (B,)."""
        return self(s)[1]

    def mode(self, s: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Most likely action, (N, D) -> (N, K) or (N, 1), and the new state: what evaluation uses."""
        return self(s)[0].mode(), state

    def to_env(self, a: NDArray[np.float32]) -> NDArray[Any]:
        """What the environment gets for the policy's action (N, K): in bounds, tanh(u) if it squashes."""
        return self.spec.to_env(a, self.squash)

    # What the update asks for.

    def batch(self, buffer: Buffer, states: list[Tensor]) -> Tensor:
        """The rollout on the device, one row per step: s | a | log pi_old | A | R, (T N, D + K + 3)."""
        rows = np.concatenate([buffer.s, buffer.targets()], -1)
        return torch.from_numpy(rows.reshape(-1, rows.shape[-1])).to(self.theta.device)

    def evaluate(self, rows: Tensor, w: Weights) -> tuple[Distribution, Tensor]:
        """Distribution and V(s) for rows of `batch`."""
        return self.heads(rows[:, : self.spec.obs_dim], w)

    def targets(self, rows: Tensor) -> Tensor:
        """The columns a | log pi_old | A | R of rows of `batch`, (B, K + 3)."""
        return rows[:, self.spec.obs_dim :]


def quick_tanh(x: Tensor) -> Tensor:
    """tanh of x, which is lost. Where the CPU's vector library is slow at tanh, sigmoid takes a ninth."""
    # 2 sigma(2 x) - 1
    return torch.add(MINUS_ONE, x.mul_(TWO).sigmoid_(), alpha=2)


def pack_action(pi: Distribution, v: Tensor, noise: Tensor) -> Tensor:
    """Sample, and put action, log-probability and value side by side."""
    a = pi.sample(noise)
    return torch.cat([a, pi.log_prob(a)[:, None], v[:, None]], 1)


def network_shapes(spec: Spec, inputs: int, hidden: tuple[int, ...]) -> Shapes:
    """Weights of the hidden layers of both networks, of the two heads, and the policy's log sigma.

    The heads' lie output first, as in `nn.Linear`: with a column for each of so few outputs, the CPU's matrix
    library took three to four times as long.
    """
    shapes: Shapes = {}
    sizes = (inputs, *hidden)
    for i, (columns, units) in enumerate(zip(sizes, hidden), 1):
        shapes[f"w{i}"], shapes[f"b{i}"] = (2, columns, units), (2, 1, units)
    for net, out in (("pi", spec.act_dim), ("v", 1)):
        shapes[f"{net}.w"], shapes[f"{net}.b"] = (out, sizes[-1]), (out,)
    if not spec.discrete:
        shapes["log_std"] = (spec.act_dim,)
    return shapes


def orthogonal(shape: tuple[int, ...], gain: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """A random matrix with orthonormal rows or columns, times `gain` (arXiv:1312.6120)."""
    rows, columns = shape
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return (gain * (q if rows >= columns else q.T)).astype(np.float32)
