"""Every operator that PPO uses, on the device against the CPU: `parity.py DEVICE ROWS.json SEED`.

For each row one `op` event: the largest error of the result and of the input gradients
relative to the largest reference value, or the exception. On the CPU itself the reference
is float64, so that the comparison can fail there too; elsewhere it is float32 on the CPU.
"""

from __future__ import annotations

import json
import sys
import zlib
from typing import Any

from npudoctor.smoke_test.children.common import emit, guarded, open_device, wait


def job(args: list[str]) -> int:
    """Compare every row of the file in every type it names."""
    import torch

    name, rows_path, seed = args[0], args[1], int(args[2])
    device = open_device(name)
    with open(rows_path, encoding="utf-8") as stream:
        rows = json.load(stream)
    for row in rows:
        # By name, so that a new row does not change the numbers of the others.
        own = zlib.crc32(row["op"].encode()) + int(seed)
        dtypes = ["float32", *[d for d in row["low_precision"].split(",") if d]]
        for dtype in dtypes:
            generator = torch.Generator().manual_seed(own)
            inputs = {k: draw(kind, generator) for k, kind in (p.split("=") for p in row["inputs"].split())}
            try:
                result = compare(row, inputs, getattr(torch, dtype), device)
            except Exception as error:
                first = (str(error).strip().splitlines() or [""])[0]
                result = {"error": f"{type(error).__name__}: {first}"[:400]}
            emit("op", op=row["op"], dtype=dtype, rtol=float(row["rtol"]), **result)
    emit("done", device=str(device), rows=len(rows))
    return 0


def draw(kind: str, generator: Any) -> Any:
    """A CPU tensor for `n:256x8` (normal), `u` (0.1..1), `s` (normal/8), `i9` (below 9), `p9`, `m` (mask)."""
    import torch

    head, shape_text = kind.split(":")
    shape = [int(n) for n in shape_text.split("x")]
    if head == "n":
        return torch.randn(shape, generator=generator)
    if head == "s":
        return torch.randn(shape, generator=generator) / 8
    if head == "u":
        return 0.1 + 0.9 * torch.rand(shape, generator=generator)
    if head == "m":
        return torch.rand(shape, generator=generator) > 0.5
    if head[0] == "p":
        return torch.randperm(int(head[1:]), generator=generator)[: shape[0]]
    return torch.randint(int(head[1:]), shape, generator=generator)


def compare(row: dict[str, str], inputs: dict[str, Any], dtype: Any, device: Any) -> dict[str, Any]:
    """Errors of forward and backward, and the device on which the result was found."""
    import torch

    # Rounded first, so that both sides start from the same numbers.
    rounded = {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}
    wide = torch.float64 if device.type == "cpu" else torch.float32
    backward = row["backward"] == "yes"
    expected = evaluate(row["expression"], rounded, wide, torch.device("cpu"), backward)
    found = evaluate(row["expression"], rounded, dtype, device, backward)
    wait(device)
    place = str(found[0].device)
    errors = [error(f, e) for f, e in zip(found, expected)]
    return {"forward": errors[0], "backward": max(errors[1:], default=None), "device": place}


def evaluate(expression: str, inputs: dict[str, Any], dtype: Any, device: Any, backward: bool) -> list[Any]:
    """[result, gradient of each floating input ...] of `expression` on `device` in `dtype`."""
    import torch
    import torch.nn.functional as F

    local = {}
    for name, value in inputs.items():
        value = value.to(dtype) if value.is_floating_point() else value
        local[name] = value.to(device).detach().clone()
        if backward and value.is_floating_point():
            local[name].requires_grad_(True)
    scope = {
        "torch": torch,
        "F": F,
        "distribution": distribution,
        "adam_steps": adam_steps,
        "adam_foreach": adam_foreach,
        "clipped_gradients": clipped_gradients,
        **local,
    }
    result = eval(expression, scope)  # a row of the shipped table, never user input
    if not backward:
        return [result.detach()]
    leaves = [v for v in local.values() if v.requires_grad]
    weights = torch.linspace(0.5, 1.5, max(result.numel(), 1)).to(dtype).reshape(result.shape).to(device)
    gradients = torch.autograd.grad((result * weights).sum(), leaves)
    return [result.detach(), *gradients]


def error(found: Any, expected: Any) -> float:
    """Largest difference, relative to the largest reference value (at least 1e-6)."""
    import torch

    # The difference is taken on the CPU: the device under test does not judge itself.
    a, b = found.detach().cpu().to(torch.float64), expected.detach().to(torch.float64)
    if a.shape != b.shape:
        raise ValueError(f"shape {tuple(a.shape)} instead of {tuple(b.shape)}")
    if a.numel() == 0:
        return 0.0
    if bool(torch.isfinite(b).all()) and not bool(torch.isfinite(a).all()):
        return float("inf")
    scale = max(float(b.abs().max()), 1e-6)
    return float((a - b).abs().max()) / scale


def distribution(kind: str, *args: Any, **kwargs: Any) -> Any:
    """A torch.distributions object without argument validation, which would synchronise."""
    import torch

    return getattr(torch.distributions, kind)(*args, validate_args=False, **kwargs)


def adam_steps(weight: Any, gradient: Any) -> Any:
    """The change of the weight after three Adam steps with one gradient (lr 3e-2, eps 1e-5).

    Written with the in-place operators that torch.optim.Adam launches. Importing the class
    itself costs 1.5 s here (it loads torch._dynamo); the training stages use it.
    """
    lr, beta1, beta2, eps = 3e-2, 0.9, 0.999, 1e-5
    w, g = weight.detach().clone(), gradient.detach()
    first, second = g.new_zeros(g.shape), g.new_zeros(g.shape)
    for step in range(1, 4):
        first.lerp_(g, 1 - beta1)
        second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        root = (second.sqrt() / (1 - beta2**step) ** 0.5).add_(eps)
        w.addcdiv_(first, root, value=-lr / (1 - beta1**step))
    # The change, not the weight: an optimiser that does nothing must not pass. The large
    # learning rate keeps the rounding of the weights out of the comparison.
    return w - weight.detach()


def adam_foreach(weight: Any, gradient: Any) -> Any:
    """As `adam_steps`, with the operators on lists that torch uses on accelerators."""
    import torch

    lr, beta1, beta2, eps = 3e-2, 0.9, 0.999, 1e-5
    ws, gs = [weight.detach().clone()], [gradient.detach()]
    first, second = [g.new_zeros(g.shape) for g in gs], [g.new_zeros(g.shape) for g in gs]
    for step in range(1, 4):
        torch._foreach_lerp_(first, gs, 1 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, gs, gs, 1 - beta2)
        roots = torch._foreach_sqrt(second)
        torch._foreach_div_(roots, (1 - beta2**step) ** 0.5)
        torch._foreach_add_(roots, eps)
        torch._foreach_addcdiv_(ws, first, roots, -lr / (1 - beta1**step))
    return ws[0] - weight.detach()


def clipped_gradients(*gradients: Any) -> Any:
    """The gradients, flattened, after clipping their common norm at 0.5."""
    import torch

    leaves = []
    for gradient in gradients:
        leaf = torch.zeros_like(gradient).requires_grad_(True)
        leaf.grad = gradient.detach().clone()
        leaves.append(leaf)
    torch.nn.utils.clip_grad_norm_(leaves, 0.5)
    return torch.cat([leaf.grad.flatten() for leaf in leaves if leaf.grad is not None])


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
