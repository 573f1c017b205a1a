"""Operator coverage of the simulated NPU, measured against PyTorch's own list of operators and samples.

    python benchmarks/simulate_opinfo.py [--samples N] [--only NAME] [--json FILE]

For each operator of `torch.testing._internal.common_methods_invocations.op_db` with float32 support,
each of its first N sample inputs runs on the CPU and on the simulated NPU with the same seed; outputs
and gradients have to be equal bit for bit (NaN equals NaN). Prints the share of equal samples and
every operator that is not fully equal.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch.utils import _pytree as tree

import npudoctor.simulate as simulate

SECONDS_PER_OPERATOR = 60


def to_npu(value: Any) -> Any:
    """A detached copy of a tensor on the device, wanting gradients as the original does."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("npu").requires_grad_(value.requires_grad)
    if isinstance(value, torch.device):
        return torch.device("npu")
    return value


def fresh(value: Any) -> Any:
    """A detached copy on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return value


def call(op: Any, sample: Any, move: Any) -> tuple[list[Any], list[Any]]:
    """Outputs and input gradients of one sample, all as host tensors."""
    given = tree.tree_map(move, (sample.input, sample.args, sample.kwargs))
    torch.manual_seed(0)
    out = op(given[0], *given[1], **given[2])
    leaves = [t for t in tree.tree_leaves(out) if isinstance(t, torch.Tensor)]
    wanted = [t for t in leaves if t.requires_grad and t.is_floating_point()]
    inputs = [t for t in tree.tree_leaves(given) if isinstance(t, torch.Tensor) and t.requires_grad]
    grads: list[Any] = []
    if wanted and inputs and op.supports_autograd:
        grads = list(torch.autograd.grad([t.sum() for t in wanted], inputs, allow_unused=True))
    plain = [t.detach().cpu() if isinstance(t, torch.Tensor) else t for t in tree.tree_leaves(out)]
    return plain, [g if g is None else g.detach().cpu() for g in grads]


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, NaN included."""
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or (a.dtype, a.shape, a.layout) != (b.dtype, b.shape, b.layout):
            return False
        if a.layout != torch.strided or a.is_quantized:
            return False
        wide = (torch.complex128 if a.is_complex() else torch.float64) if not a.dtype.is_signed or (
            a.is_floating_point() or a.is_complex()) else torch.int64
        return torch.allclose(a.to(wide), b.to(wide), rtol=0, atol=0, equal_nan=True)
    return bool(a == b)


def uncertain(op: Any) -> bool:
    """Outputs that nobody promises: uninitialised memory."""
    return op.name.startswith(("empty", "new_empty")) or op.name == "resize_" or "empty" in op.name


def repeats(op: Any, sample: Any, want: tuple[list[Any], list[Any]]) -> bool:
    """Whether the CPU gives `want` again when freed memory held other values.

    Some kernels read memory that nobody wrote: `linalg.lstsq` with the driver gelsy takes its pivots
    from it (https://github.com/pytorch/pytorch/issues/187411).
    """
    for attempt in range(40):
        sizes = (1, 2, 3, 4, 8) * 60
        dirt = [torch.randint(0, 2 + attempt % 3, (size,), dtype=torch.int32) for size in sizes]
        del dirt
        again = call(op, sample, fresh)
        if not all(same(a, b) for a, b in zip(want[0] + want[1], again[0] + again[1])):
            return False
    return True


def measure(op: Any, limit: int) -> Counter:
    """Counts of equal, unequal and failing samples of one operator."""
    counts: Counter = Counter()
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
    for sample in itertools.islice(samples, limit):
        try:
            want = call(op, sample, fresh)
        except Exception:
            counts["cpu fails"] += 1
            continue
        try:
            got = call(op, sample, to_npu)
        except Exception as error:
            counts[f"{type(error).__name__}: {str(error).splitlines()[0][:110] if str(error) else ''}"] += 1
            continue
        pairs = list(zip(want[0] + want[1], got[0] + got[1]))
        fine = len(want[0]) == len(got[0]) and len(want[1]) == len(got[1])
        fine = fine and (uncertain(op) or all(same(a, b) for a, b in pairs))
        if not fine and not repeats(op, sample, want):
            counts["cpu differs from itself"] += 1
        else:
            counts["equal" if fine else "unequal"] += 1
    return counts


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    total: Counter = Counter()
    unsteady = 0
    listed: dict[str, dict[str, int]] = {}
    with simulate.device():
        for op in op_db:
            name = f"{op.name}.{op.variant_test_name}".rstrip(".")
            if torch.float32 not in op.supported_dtypes("cpu") or options.only not in name:
                continue
            signal.signal(signal.SIGALRM, _too_long)
            signal.alarm(SECONDS_PER_OPERATOR)
            try:
                counts = measure(op, options.samples)
            except TimeoutError:
                counts = Counter({"timeout": 1})
            finally:
                signal.alarm(0)
            usable = {key: n for key, n in counts.items() if not key.startswith("cpu ")}
            unsteady += counts["cpu differs from itself"]
            total["operators"] += 1
            total["operators equal"] += set(usable) <= {"equal"}
            total["samples"] += sum(usable.values())
            total["samples equal"] += usable.get("equal", 0)
            if set(usable) - {"equal"}:
                listed[name] = usable
                print(f"{name:60} {dict(usable)}", flush=True)
    share = total["samples equal"] / max(1, total["samples"])
    print(f"torch {torch.__version__}: {total['samples equal']} of {total['samples']} samples equal "
          f"({share:.2%}); "
          f"{total['operators equal']} of {total['operators']} operators fully equal; {unsteady} samples "
          "that the CPU itself does not repeat are left out")
    if options.json:
        options.json.write_text(json.dumps({"total": total, "share": share, "not_equal": listed}, indent=1))


def _too_long(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    main()
