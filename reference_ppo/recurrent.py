"""A policy with memory: an LSTM (Hochreiter and Schmidhuber 1997) before the two networks.

Trained by truncated back-propagation through time: a row of a batch is a sequence of L steps together with
the memory that the rollout had at its start, so the first minibatch still has ratio 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from reference_ppo.policy import (
    Distribution,
    Policy,
    Shapes,
    Weights,
    network_shapes,
    orthogonal,
    pack_action,
)

if TYPE_CHECKING:
    from reference_ppo.buffer import Buffer

UNITS = 64
"""H: size of the LSTM."""


class RecurrentPolicy(Policy):
    """s -> LSTM -> the two networks of `Policy`. Memory per environment: h | c, S = 2 H numbers."""

    state_size = 2 * UNITS
    sequence = 16

    def shapes_of(self, hidden: tuple[int, ...]) -> Shapes:
        """The LSTM's weights act on s | h; the networks read h."""
        lstm = {"lstm.w": (4 * UNITS, self.spec.obs_dim + UNITS), "lstm.b": (4 * UNITS,)}
        return {**lstm, **network_shapes(self.spec, UNITS, hidden)}

    def initial(self, name: str, rng: np.random.Generator, log_std: float) -> NDArray[np.float32]:
        """As in `Policy`; LSTM weights orthogonal with gain 1, forget gate open at first (bias 1)."""
        if name == "lstm.w":
            return orthogonal(self.shapes[name], 1.0, rng)
        if name == "lstm.b":
            return np.repeat([0, 1, 0, 0], UNITS).astype(np.float32)
        return super().initial(name, rng, log_std)

    def cell(self, s: Tensor, keep: Tensor, state: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
        """One step: s (B, D), keep (B, 1), state (B, 2 H) -> h (B, H) and the new state."""
        h, c = (state * keep).chunk(2, 1)  # a new episode begins without memory
        i, f, g, o = linear(torch.cat([s, h], 1), w["lstm.w"], w["lstm.b"]).chunk(4, 1)
        # c_t = sigma(f) c_{t-1} + sigma(i) tanh(g),   h_t = sigma(o) tanh(c_t)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, torch.cat([h, c], 1)

    def forward(self, *_: Any) -> Any:
        """Not defined: without its memory the policy is not a function of the state."""
        raise TypeError("a recurrent policy needs its state: use act, value, mode or evaluate")

    def act(self, x: Tensor, state: Tensor, w: Weights) -> tuple[Tensor, Tensor]:
        """See `Policy.act`."""
        d, k = self.spec.obs_dim, self.spec.act_dim
        h, state = self.cell(x[:, :d], x[:, d + k :], state, w)
        pi, v = self.heads(h, w)
        return pack_action(pi, v, x[:, d : d + k]), state

    def value(self, s: Tensor, state: Tensor) -> Tensor:
        """V(s) given the memory before s."""
        w = self.weights()
        h, _ = self.cell(s, torch.ones_like(s[:, :1]), state, w)
        return self.heads(h, w)[1]

    def mode(self, s: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """See `Policy.mode`."""
        w = self.weights()
        h, state = self.cell(s, torch.ones_like(s[:, :1]), state, w)
        return self.heads(h, w)[0].mode(), state

    def batch(self, buffer: Buffer, states: list[Tensor]) -> Tensor:
        """One row per sequence: L x (s | keep | a | log pi_old | A | R), then the memory at its start.

        (T / L N, L (D + K + 4) + 2 H). The memory has never left the device.
        """
        rows = np.concatenate([buffer.s, buffer.keep[..., None], buffer.targets()], -1)  # (T, N, W)
        t, n, width = rows.shape
        rows = rows.reshape(t // self.sequence, self.sequence, n, width).swapaxes(1, 2)  # (T / L, N, L, W)
        rows = rows.reshape(-1, self.sequence * width)
        return torch.cat([torch.from_numpy(rows).to(self.theta.device), torch.cat(states)], 1)

    def steps(self, rows: Tensor) -> Tensor:
        """(C, L, W)."""
        return rows[:, : -self.state_size].unflatten(1, (self.sequence, -1))

    def evaluate(self, rows: Tensor, w: Weights) -> tuple[Distribution, Tensor]:
        """Run the LSTM along the sequences, then the networks on all steps at once, (C L, ...)."""
        x, state, d = self.steps(rows), rows[:, -self.state_size :], self.spec.obs_dim
        out = []
        for t in range(self.sequence):
            h, state = self.cell(x[:, t, :d], x[:, t, d : d + 1], state, w)
            out.append(h)
        return self.heads(torch.stack(out, 1).flatten(0, 1), w)

    def targets(self, rows: Tensor) -> Tensor:
        """See `Policy.targets`; (C L, K + 3)."""
        return self.steps(rows)[:, :, self.spec.obs_dim + 1 :].flatten(0, 1)
