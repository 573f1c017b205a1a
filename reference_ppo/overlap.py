"""Two groups of environments in turn: one steps while the device works for the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reference_ppo.buffer import Buffer
from reference_ppo.rollout import Collector


def collect(groups: list[Collector], buffer: Buffer, noise: NDArray[np.float32]) -> None:
    """Fill `buffer` (T, N); group i owns the i-th block of environments.

    The order of one turn of group a, with b the other group:

        read a's actions | send them | launch the device for b | step a, while the device works for b

    Each group sees exactly the calls that `Collector.collect` makes, in the same order, so the numbers are
    those of collecting the groups one after the other.
    """
    starts = np.cumsum([0, *(g.envs.num_envs for g in groups)])
    parts = [slice(a, b) for a, b in zip(starts[:-1], starts[1:])]
    for group, part in zip(groups, parts):
        group.begin(buffer.part(part), noise[:, part])
    groups[0].launch(0)
    horizon, last = len(noise), len(groups) - 1
    for t in range(horizon):
        for i, group in enumerate(groups):
            group.read(t)
            group.send(t)
            if i < last:
                groups[i + 1].launch(t)
            elif t + 1 < horizon and last > 0:
                groups[0].launch(t + 1)
            group.recv(t)
    for group in groups:
        group.end()
