"""Does the exported model give torch's answers: on random input, on real observations, in a closed loop?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.export.source import Source

# Largest difference relative to the largest value. float32 rounding gives 1e-6 and less.
RTOL = 1e-5
ROWS = 512
EPISODES = 64

Call = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Comparison:
    """Largest differences of one kind of input; `relative` to the largest value of torch's answer."""

    kind: str
    rows: int
    absolute: float
    relative: float


@dataclass(frozen=True)
class Loop:
    """Episodes driven by torch and by the exported model from the same seeds.

    Attributes:
        difference: largest difference between the model's action and torch's for the same
            observation, over every step of the model's episodes. This decides. Success rates of
            two policies that differ by rounding can still differ by an episode that ends on the
            edge of success.
    """

    episodes: int
    torch_return: float
    onnx_return: float
    torch_success: float | None
    onnx_success: float | None
    difference: float


def session(path: Path) -> Any:
    """An onnxruntime session on one CPU thread: what a control loop of one policy has."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_file(path: Path) -> None:
    """The model is well-formed, shapes included.

    Raises:
        onnx.checker.ValidationError: it is not.
    """
    import onnx

    onnx.checker.check_model(str(path), full_check=True)


def caller(live: Any, batch: int) -> Call:
    """The session as a function of any number of rows; a fixed batch is filled up with its last row."""
    names = [i.name for i in live.get_inputs()]
    fixed = isinstance(live.get_inputs()[0].shape[0], int)

    def call(*arrays: Any) -> tuple[Any, ...]:
        import numpy as np

        if not fixed:
            return tuple(live.run(None, dict(zip(names, arrays))))
        count, parts = len(arrays[0]), []
        for start in range(0, count, batch):
            block = [a[start : start + batch] for a in arrays]
            short = batch - len(block[0])
            block = [np.concatenate([b, np.repeat(b[-1:], short, 0)]) if short else b for b in block]
            parts.append(live.run(None, dict(zip(names, block))))
        return tuple(np.concatenate(column)[:count] for column in zip(*parts))

    return call


def compare(source: Source, call: Call, seed: int = 0) -> list[Comparison]:
    """Torch against the model on random rows and, where there is an environment, on real ones."""
    import numpy as np

    rng = np.random.default_rng(seed)
    random = tuple(_random(rng, tensor) for tensor in source.inputs)
    kinds = [("random", random)]
    if source.observations is not None:
        kinds.append(("rollout", source.observations(ROWS)))
    found = []
    for kind, arrays in kinds:
        pairs = list(zip(source.call(*arrays), call(*arrays)))
        absolute = max(_difference(t, o) for t, o in pairs)
        scale = max(max(float(np.abs(t).max()), 1e-6) for t, _ in pairs)
        found.append(Comparison(kind, len(arrays[0]), absolute, absolute / scale))
    return found


def _random(rng: Any, tensor: Any) -> Any:
    import numpy as np

    shape = (ROWS, *tensor.shape[1:])
    if tensor.is_floating_point():
        return rng.standard_normal(shape).astype(tensor.numpy().dtype)
    return np.zeros(shape, tensor.numpy().dtype) + tensor.numpy()[:1]


def _difference(expected: Any, found: Any) -> float:
    import numpy as np

    if expected.shape != found.shape:
        return float("inf")
    same = float(np.abs(expected.astype(np.float64) - found.astype(np.float64)).max(initial=0.0))
    return same if np.isfinite(same) else float("inf")


def closed_loop(source: Source, call: Call) -> Loop | None:
    """Whole episodes with either policy on the seeds of the reference evaluation; None without a task."""
    if source.settings is None:
        return None
    torch_return, torch_success = episodes(source, source.call)
    worst = 0.0

    def watched(*arrays: Any) -> tuple[Any, ...]:
        nonlocal worst
        found = call(*arrays)
        worst = max(worst, *(_difference(t, o) for t, o in zip(source.call(*arrays), found)))
        return found

    onnx_return, onnx_success = episodes(source, watched)
    return Loop(EPISODES, torch_return, onnx_return, torch_success, onnx_success, worst)


def episodes(source: Source, call: Call) -> tuple[float, float | None]:
    """Mean return and success rate of the first episode in each of `EPISODES` environments."""
    import numpy as np

    from npudoctor.export.policy import FIRST_SEED
    from reference_ppo.config import Config
    from reference_ppo.envs.make import make_envs, successes

    settings = {**dict(source.settings or {}), "workers": False}
    envs = make_envs(Config(**{**settings, "hidden": tuple(settings["hidden"])}), EPISODES)
    seeds: Any = [FIRST_SEED + i for i in range(EPISODES)]
    obs, _ = envs.reset(seed=seeds)
    returns, running, success, known = (
        np.zeros(EPISODES),
        np.ones(EPISODES, bool),
        np.zeros(EPISODES, bool),
        False,
    )
    memory = [np.zeros((EPISODES, *t.shape[1:]), np.float32) for t in source.inputs[1:]]
    try:
        while running.any():
            action, *memory = call(np.asarray(obs, np.float32), *memory)
            obs, reward, terminated, truncated, infos = envs.step(action)
            returns += np.where(running, reward, 0.0)
            ended = np.flatnonzero((terminated | truncated) & running)
            if len(ended):
                running[ended] = False
                told = successes(infos, ended)
                if told is not None:
                    known, success[ended] = True, told
    finally:
        envs.close()
    return float(returns.mean()), float(success.mean()) if known else None
