"""Every setting of a run, with the values of the 2-D reach task as defaults."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from reference_ppo.errors import UsageError


@dataclass(frozen=True)
class Config:
    """Settings of one training run. Frozen: a run never changes them under way."""

    env: str = "reach"
    """`reach` (the built-in task) or the id of any gymnasium environment with Box or Discrete actions."""
    reward: str = "dense"
    """Reward of the reach task: `dense` or `sparse`, which needs ten times the steps, and advantages that are
    not normalised: those of a rollout without any reward are noise, which must stay small."""
    num_envs: int = 32
    """N: environments stepped together. Keep T = rollout_steps / N at 32 or more, or learning suffers."""
    workers: bool = False
    """One process per environment (gymnasium AsyncVectorEnv). Worth it only for slow environments."""
    overlap: bool = False
    """Two groups of environments in turn: one steps while the device works for the other."""
    seed: int = 0
    """Seeds weights, noise, permutations (all drawn on the host) and, plus its index, each environment."""
    device: str = "cpu"
    """`cpu`, `npu`, `npu:0`, `cuda`, ..."""
    update: str = "plain"
    """How minibatches are computed: `plain` (autograd, the form to read), `analytic` (the loss's gradient
    written out: fewest kernels), `compiled` (one graph each) or `numpy` (all by hand, on the CPU). All give
    the same numbers up to rounding."""
    quick_tanh: bool = True
    """On a CPU, tanh through the sigmoid."""
    host_inference: bool = True
    """On a CPU, a Gaussian policy without memory acts in NumPy (host.py). With this and `quick_tanh` off, a
    CPU run takes the same operations as an NPU run."""
    threads: int = 1
    """torch CPU threads. At these sizes two are slower than one, far slower on a busy machine."""

    total_steps: int = 61_440
    """Environment steps to train for, over all environments and processes."""
    rollout_steps: int = 2048
    """N x T: steps collected per update."""
    minibatch: int = 256
    epochs: int = 10
    lr: float = 3e-4
    clip: float = 0.2
    """epsilon: the ratio may leave [1 - epsilon, 1 + epsilon] without reward."""
    gamma: float = 0.99
    lam: float = 0.95
    """lambda of GAE."""
    value_coef: float = 0.5
    """Weight of the mean squared value error in the loss."""
    entropy_coef: float = 0.0
    max_grad_norm: float = 0.5
    adam_eps: float = 1e-5
    hidden: tuple[int, ...] = (64, 64)
    log_std: float = 0.0
    """Initial log standard deviation of the Gaussian policy."""
    squash: bool = False
    """Pass the Gaussian sample through tanh instead of clipping it at the action bounds."""
    recurrent: bool = False
    """An LSTM before the networks: for tasks whose observation does not tell all."""
    normalize_obs: bool = True
    normalize_advantage: bool = True

    stop_on_fault: bool = True
    """End the run when a health rule reports an error (a NaN, a wrong importance ratio)."""
    target_success: float | None = None
    """Stop as soon as this share of deterministic evaluation episodes succeeds."""
    max_seconds: float | None = None
    eval_every: int = 4
    """Updates between evaluations, when `target_success` is set."""
    eval_episodes: int = 64

    extra: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments for `gymnasium.make`."""

    def __post_init__(self) -> None:
        """Refuse combinations that cannot train.

        Raises:
            UsageError: one sentence about the first setting that is out of range.
        """
        for name in ("num_envs", "rollout_steps", "minibatch", "epochs", "total_steps", "threads"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("num_envs", "minibatch"):
            value = getattr(self, name)
            if self.rollout_steps % value:
                raise UsageError(
                    f"rollout_steps must be a multiple of {name}, got {self.rollout_steps}, {value}"
                )
        if self.overlap and self.num_envs % 2:
            raise UsageError(f"overlap needs an even number of environments, got {self.num_envs}")
        if self.recurrent and (self.horizon % 16 or self.minibatch % 16):
            raise UsageError("recurrent needs minibatch and rollout_steps / num_envs to be multiples of 16")
        if self.update not in ("plain", "analytic", "compiled", "numpy"):
            raise UsageError(f"update must be plain, analytic, compiled or numpy, got {self.update}")
        if self.update == "analytic" and self.squash:
            raise UsageError("the analytic update knows no squashed policy")
        if self.update == "numpy" and (self.recurrent or self.squash or not self.device.startswith("cpu")):
            raise UsageError("the numpy update knows only the plain networks, and only the CPU")
        if self.reward not in ("dense", "sparse"):
            raise UsageError(f"reward must be dense or sparse, got {self.reward}")

    @property
    def horizon(self) -> int:
        """T: time steps per environment and rollout."""
        return self.rollout_steps // self.num_envs

    def as_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON and checkpoints."""
        return {**asdict(self), "hidden": list(self.hidden)}
