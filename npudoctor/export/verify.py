"""Does the exported model give torch's answers: on random input and on real observations?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npudoctor.export.source import Source

ROWS = 512

Call = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Limits:
    """What rounding explains.

    Attributes:
        numbers: largest difference, relative to the largest value.
        choices: share of the rows whose choice (an integer output) differs: two near equals change places.
    """

    numbers: float
    choices: float

    def of(self, answer: Any) -> float:
        """The limit for one output array."""
        return self.choices if _is_choice(answer) else self.numbers


# float32 rounding gives 1e-6 and less.
LIMITS = Limits(1e-5, 1e-3)
RTOL = LIMITS.numbers


@dataclass(frozen=True)
class Comparison:
    """Largest differences of one kind of input.

    Attributes:
        absolute: largest difference of a number.
        relative: that, relative to the largest value expected; for choices the share of rows that differ.
        limit: what `relative` may be.
    """

    kind: str
    rows: int
    absolute: float
    relative: float
    limit: float = LIMITS.numbers

    @property
    def ok(self) -> bool:
        """Whether rounding explains it; NaN is never explained."""
        return self.relative <= self.limit


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


def compare(
    source: Source, call: Call, seed: int = 0, *, reference: Call | None = None, limits: Limits = LIMITS
) -> list[Comparison]:
    """The model against torch (or `reference`) on random rows and, with an environment, on real ones."""
    import numpy as np

    rng = np.random.default_rng(seed)
    kinds = [("random", tuple(_random(rng, tensor) for tensor in source.inputs))]
    if source.observations is not None:
        kinds.append(("rollout", source.observations(ROWS)))
    return [
        _comparison(kind, (reference or source.call)(*arrays), call(*arrays), limits)
        for kind, arrays in kinds
    ]


def _comparison(kind: str, expected: tuple[Any, ...], found: tuple[Any, ...], limits: Limits) -> Comparison:
    """The output that is furthest off, measured in its limit, speaks for all."""
    import numpy as np

    outputs = []
    for want, have in zip(expected, found):
        off = difference(want, have)
        scale = 1.0 if _is_choice(want) else max(float(np.abs(want).max()), 1e-6)
        outputs.append(Comparison(kind, len(want), off, off / scale, limits.of(want)))
    return max(outputs, key=lambda c: c.relative / c.limit)


def _random(rng: Any, tensor: Any) -> Any:
    import numpy as np

    shape = (ROWS, *tensor.shape[1:])
    if tensor.is_floating_point():
        return rng.standard_normal(shape).astype(tensor.numpy().dtype)
    return np.zeros(shape, tensor.numpy().dtype) + tensor.numpy()[:1]


def difference(expected: Any, found: Any) -> float:
    """Largest difference of two arrays, or the share of differing rows where they hold choices.

    Infinite for NaN and for another shape.
    """
    import numpy as np

    if expected.shape != found.shape:
        return float("inf")
    if _is_choice(expected):
        return float((expected != found).mean()) if expected.size else 0.0
    same = float(np.abs(expected.astype(np.float64) - found.astype(np.float64)).max(initial=0.0))
    return same if np.isfinite(same) else float("inf")


def _is_choice(answer: Any) -> bool:
    return getattr(answer.dtype, "kind", "f") in "iu"
