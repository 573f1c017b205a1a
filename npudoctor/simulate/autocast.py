"""`torch.autocast("npu")`: which operators run in half precision, in float32, or in the widest type.

The lists are torch_npu's own (data/autocast_ops.tsv). They are not CUDA's: `cat` and `stack` promote
nothing, recurrent layers as a whole are not cast, and the norms of `torch.linalg` give float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npudoctor import tables
from npudoctor.simulate.aten import mapped

_KEY: Any = getattr(torch._C.DispatchKey, "AutocastPrivateUse1")  # noqa: B009 - missing in the stubs
_HALF = (torch.float16, torch.bfloat16)


def install(library: Any, fallback: Any) -> None:
    """Register the policies; every other operator falls through."""
    fallback.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for row in tables.load("autocast_ops").rows:
        base, _, variant = row["operator"].partition(".")
        overload = getattr(getattr(torch.ops.aten, base, None), variant or "default", None)
        if overload is not None:  # another PyTorch may lack one
            library.impl(row["operator"], POLICIES[row["policy"]](overload), "AutocastPrivateUse1")


def _to(dtype: torch.dtype) -> Callable[[Any], Any]:
    def change(tensor: Any) -> Any:
        wanted = tensor.device.type == "npu" and tensor.is_floating_point()
        return tensor.to(dtype) if wanted and tensor.dtype not in (dtype, torch.float64) else tensor

    return change


def _eligible(value: Any) -> bool:
    return bool(
        isinstance(value, torch.Tensor) and value.device.type == "npu" and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _lower(overload: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kw: Any) -> Any:
        change = _to(torch.get_autocast_dtype("npu"))
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*mapped(args, change), **{k: mapped(v, change) for k, v in kw.items()})

    return kernel


def _single(overload: Any) -> Callable[..., Any]:
    change = _to(torch.float32)

    def kernel(*args: Any, **kw: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*mapped(args, change), **kw)

    return kernel


def _widest(overload: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kw: Any) -> Any:
        seen: list[torch.dtype] = []
        mapped(args, lambda t: seen.append(t.dtype) or t)  # type: ignore[func-returns-value]
        halves = {dtype for dtype in seen if dtype in _HALF}
        wide = torch.float32 in seen or len(halves) != 1
        change = _to(torch.float32 if wide else halves.pop())
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*mapped(args, change), **kw)

    return kernel


def _single_result(overload: Any) -> Callable[..., Any]:
    """The result in float32, unless the caller named a type."""
    arguments = overload._schema.arguments
    place = next(i for i, argument in enumerate(arguments) if argument.name == "dtype")

    def kernel(*args: Any, **kw: Any) -> Any:
        given = args[place] if len(args) > place else kw.get("dtype")
        if given is None and _eligible(args[0]):
            args, kw = args[:place], {**kw, "dtype": torch.float32}
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*args, **kw)

    return kernel


def _banned(overload: Any) -> Callable[..., Any]:
    name = overload._schema.name.replace("aten::", "")

    def kernel(*_: Any, **__: Any) -> Any:
        raise RuntimeError(
            f"torch.nn.functional.{name} is unsafe to autocast; use {name}_with_logits, "
            "which joins it with the sigmoid and is safe"
        )

    return kernel


POLICIES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "half": _lower, "float32": _single, "float32-result": _single_result, "widest": _widest,
    "banned": _banned,
}
