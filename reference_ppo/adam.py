"""Adam (arXiv:1412.6980), written out: theta is one vector, so a step is six kernels, whatever the networks.

The same numbers as `torch.optim.Adam` up to rounding (tested). Its bookkeeping takes longer than the kernels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

BETA_1, BETA_2 = 0.9, 0.999


class Adam:
    """Gradient descent with steps scaled by running moments of the gradient."""

    def __init__(self, theta: Tensor, lr: float, eps: float) -> None:
        self.theta, self.lr, self.eps = theta.detach(), lr, eps  # the same memory, (P,)
        self.m, self.v = torch.zeros_like(self.theta), torch.zeros_like(self.theta)
        self.t = 0

    def step(self, g: Tensor) -> None:
        """Move theta against g (P,). Everything that depends on t alone is a number of the host."""
        # m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
        self.m.lerp_(g, 1 - BETA_1)
        self.v.mul_(BETA_2).addcmul_(g, g, value=1 - BETA_2)
        # theta = theta - lr m_hat / (sqrt(v_hat) + eps); numerator and denominator times sqrt(1 - b2^t)
        rate, root = self.next_scales()
        self.theta.addcdiv_(self.m, self.v.sqrt().add_(self.eps * root), value=-rate)

    def next_scales(self) -> tuple[float, float]:
        """Count the step: lr sqrt(1 - b2^t) / (1 - b1^t), and sqrt(1 - b2^t).

        m_hat = m / (1 - b1^t) and v_hat = v / (1 - b2^t) undo the bias of moments that began at zero.
        """
        self.t += 1
        root = math.sqrt(1 - BETA_2**self.t)
        return self.lr * root / (1 - BETA_1**self.t), root
