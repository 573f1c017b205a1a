"""The task: a point mass on a 2-D plane accelerates in x and y, must reach a target and stay there.

State (metres, seconds): position p in [-2, 2]^2, velocity v, target g. Action a in [-1, 1]^2 scales the
acceleration. One step of `DT`:

    v <- clip((v + a A_MAX DT) (1 - DRAG DT), -V_MAX, V_MAX)
    p <- p + v DT, stopped at the walls (the velocity into the wall becomes 0)

Observation (D = 9), every entry about [-1, 1]:

    0:2  position / HALF                 6    distance / (2 HALF)
    2:4  velocity / V_MAX                7:9  sin and cos of the angle to the target (0, 0 on the target)
    4:6  (target - position) / (2 HALF)

Reward: dense = -0.1 d - 0.005 |a|^2 + 0.2 [at rest on the target]; sparse = [at rest on the target].
At rest on the target means d < RADIUS and |v| < SLOW. Success: so for the last HOLD steps of the episode.
The episode is never terminated; it is truncated at `max_steps`.

`ReachEnv` is plain scalar Python, quickest for one environment; `ReachVectorEnv` steps N environments in one
NumPy operation. Both give the same numbers, bit for bit: only + - * / sqrt are used, in the same order.
"""

from __future__ import annotations

import json
from math import sqrt
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

HALF, V_MAX, A_MAX, DRAG, DT = 2.0, 3.0, 4.0, 0.5, 0.05
RADIUS, SLOW, HOLD, MAX_STEPS = 0.15, 0.25, 10, 200
OBS_DIM = 9

Floats = NDArray[np.float64]


def spaces() -> tuple[gym.spaces.Box, gym.spaces.Box]:
    """Observation and action space of one environment."""
    # On a wall at full speed nothing exceeds 1 but the distance, at most sqrt(2).
    high = np.ones(OBS_DIM, np.float32)
    high[6] = 1.5
    return gym.spaces.Box(-high, high, dtype=np.float32), gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


def start(rng: np.random.Generator) -> Floats:
    """Start position and target of an episode, (4,): uniform in the box, targets off the walls."""
    return rng.uniform(-1.0, 1.0, 4) * (HALF, HALF, 0.9 * HALF, 0.9 * HALF)


class ReachEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One environment. See the module's docstring for state, action, reward and success."""

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own form)

    def __init__(
        self, reward: str = "dense", max_steps: int = MAX_STEPS, render_mode: str | None = None
    ) -> None:
        self.observation_space, self.action_space = spaces()  # type: ignore[assignment]
        self.sparse, self.max_steps, self.render_mode = reward == "sparse", max_steps, render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Draw a new start and target, at rest."""
        super().reset(seed=seed)
        self.px, self.py, self.gx, self.gy = start(self.np_random).tolist()
        self.vx = self.vy = 0.0
        self.steps = self.held = 0
        return self._observe(), {"success": False}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Advance by `DT`. `action` (2,) is clipped to [-1, 1]."""
        ax, ay = (min(max(float(a), -1.0), 1.0) for a in action)
        self.px, self.vx = _move(self.px, self.vx, ax)
        self.py, self.vy = _move(self.py, self.vy, ay)
        self.steps += 1
        obs = self._observe()
        at_rest = self.d < RADIUS and sqrt(self.vx * self.vx + self.vy * self.vy) < SLOW
        self.held = self.held + 1 if at_rest else 0
        reward = float(at_rest)
        if not self.sparse:
            reward = -0.1 * self.d - 0.005 * (ax * ax + ay * ay) + 0.2 * reward
        return obs, reward, False, self.steps >= self.max_steps, {"success": self.held >= HOLD}

    def _observe(self) -> NDArray[np.float32]:
        dx, dy = self.gx - self.px, self.gy - self.py
        d = self.d = sqrt(dx * dx + dy * dy)
        sin, cos = (dy / d, dx / d) if d > 0.0 else (0.0, 0.0)
        return np.array(
            [
                self.px / HALF,
                self.py / HALF,
                self.vx / V_MAX,
                self.vy / V_MAX,
                dx / (2 * HALF),
                dy / (2 * HALF),
                d / (2 * HALF),
                sin,
                cos,
            ],
            np.float32,
        )


def _move(p: float, v: float, a: float) -> tuple[float, float]:
    v = (v + a * A_MAX * DT) * (1.0 - DRAG * DT)
    v = min(max(v, -V_MAX), V_MAX)
    p = p + v * DT
    if p < -HALF or p > HALF:
        return min(max(p, -HALF), HALF), 0.0
    return p, v


class ReachVectorEnv(gym.vector.VectorEnv):
    """N environments in one NumPy operation; each keeps its own random generator, seeded `seed + index`.

    Autoreset mode is SAME_STEP: the step that ends an episode already returns the first observation of the
    next one, and the last observation of the ended one is in `infos["final_obs"]` (N, D), marked by the mask
    `infos["_final_obs"]` (N,); likewise `infos["final_info"]["success"]` (N,).
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, reward: str = "dense", max_steps: int = MAX_STEPS) -> None:
        self.num_envs, self.sparse, self.max_steps = num_envs, reward == "sparse", max_steps
        self.single_observation_space, self.single_action_space = spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.rngs: list[np.random.Generator] = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self.p = np.zeros((num_envs, 2))  # position
        self.v = np.zeros((num_envs, 2))  # velocity
        self.g = np.zeros((num_envs, 2))  # target
        self.steps = np.zeros(num_envs, np.int64)
        self.held = np.zeros(num_envs, np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start N episodes. An integer seed gives environment i the seed `seed + i`."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for i, s in enumerate(seeds or []):
            if s is not None:
                self.rngs[i] = seeding.np_random(s)[0]
        self._start(np.arange(self.num_envs))
        return self._observe()[0], {"success": np.zeros(self.num_envs, bool)}

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance all environments by `DT`. `actions` (N, 2) are clipped to [-1, 1]."""
        a = np.clip(actions.astype(np.float64), -1.0, 1.0)
        v = np.clip((self.v + a * A_MAX * DT) * (1.0 - DRAG * DT), -V_MAX, V_MAX)
        p = self.p + v * DT
        self.p = np.clip(p, -HALF, HALF)
        self.v = np.where(p == self.p, v, 0.0)
        self.steps += 1
        obs, d = self._observe()
        at_rest = (d < RADIUS) & (_norm(self.v) < SLOW)
        self.held = np.where(at_rest, self.held + 1, 0)
        reward = at_rest.astype(np.float64)
        if not self.sparse:
            reward = -0.1 * d - 0.005 * (a[:, 0] * a[:, 0] + a[:, 1] * a[:, 1]) + 0.2 * reward
        success = self.held >= HOLD
        truncated = self.steps >= self.max_steps
        infos: dict[str, Any] = {"success": success}
        if truncated.any():
            infos.update(
                final_obs=obs, _final_obs=truncated, final_info={"success": success}, _final_info=truncated
            )
            ended = np.flatnonzero(truncated)
            self._start(ended)
            obs = obs.copy()
            obs[ended] = self._observe()[0][ended]
        return obs, reward, np.zeros(self.num_envs, bool), truncated, infos

    def state(self) -> str:
        """Episodes in flight and random generators, as JSON; floats survive exactly."""
        arrays = {name: getattr(self, name).tolist() for name in ("p", "v", "g", "steps", "held")}
        return json.dumps({**arrays, "rngs": [rng.bit_generator.state for rng in self.rngs]})

    def load(self, state: str) -> None:
        """Inverse of `state`."""
        saved = json.loads(state)
        for name in ("p", "v", "g", "steps", "held"):
            setattr(self, name, np.array(saved[name]))
        for rng, rng_state in zip(self.rngs, saved["rngs"]):
            rng.bit_generator.state = rng_state

    def _start(self, indices: NDArray[np.int64]) -> None:
        for i in indices:
            self.p[i], self.g[i] = start(self.rngs[i]).reshape(2, 2)
        self.v[indices] = 0.0
        self.steps[indices] = self.held[indices] = 0

    def _observe(self) -> tuple[NDArray[np.float32], Floats]:
        obs = np.empty((self.num_envs, OBS_DIM), np.float32)
        delta = self.g - self.p
        d = _norm(delta)
        obs[:, 0:2] = self.p / HALF
        obs[:, 2:4] = self.v / V_MAX
        obs[:, 4:6] = delta / (2 * HALF)
        obs[:, 6] = d / (2 * HALF)
        direction = delta / np.where(d > 0.0, d, 1.0)[:, None]
        obs[:, 7] = direction[:, 1]
        obs[:, 8] = direction[:, 0]
        return obs, d


def _norm(x: Floats) -> Floats:
    # Not np.hypot: it rounds differently from sqrt(x*x + y*y) in the scalar form.
    return np.sqrt(x[:, 0] * x[:, 0] + x[:, 1] * x[:, 1])
