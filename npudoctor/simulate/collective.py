"""torch.distributed with "hccl": gloo does the work, on the host memory under the device tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from npudoctor.simulate import live
from npudoctor.simulate.bridge import to_host

NAMES = (
    "allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_", "_allgather_base_",
    "allgather_coalesced_", "allgather_into_tensor_coalesced_", "gather_", "scatter_", "reduce_scatter_",
    "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "alltoall_", "alltoall_base_", "barrier",
    "send", "recv_", "recv_any_source_",
)


def install(keep: list[Any]) -> None:
    """Route the collectives of device tensors to the host's process group."""
    if not torch.distributed.is_available():
        return
    library = torch.library.Library("c10d", "IMPL")
    keep.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these kernels replace PyTorch's is meant
        for name in NAMES:
            operator = getattr(torch.ops.c10d, name, None)
            if operator is not None:
                library.impl(name, _on_host(operator.default, name), "PrivateUse1", allow_override=True)


def _on_host(overload: Any, name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kw: Any) -> Any:
        result = overload(*(_host(value) for value in args), **kw)
        live.launch(f"c10d.{name}")
        if isinstance(result, (tuple, list)):
            # In place: the tensors that came in are the ones that go out.
            return type(result)([args[0] if _tensors(item) else item for item in result])
        return result

    return kernel


def _tensors(item: Any) -> bool:
    return isinstance(item, (list, tuple, torch.Tensor))


def _host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return to_host(value) if value.device.type == "npu" else value
    if isinstance(value, (list, tuple)):
        return type(value)([_host(item) for item in value])
    return value


def apply(stack: ExitStack) -> None:
    """Let `init_process_group("hccl")` mean gloo while a simulation is active."""
    if not torch.distributed.is_available():
        return
    for name in ("init_process_group", "new_group"):
        original = getattr(torch.distributed, name)
        for module in (torch.distributed, torch.distributed.distributed_c10d):
            setattr(module, name, _with_gloo(original, 0 if name == "init_process_group" else None))
            stack.callback(setattr, module, name, original)


def _with_gloo(original: Any, place: int | None) -> Any:
    def call(*args: Any, **kw: Any) -> Any:
        if place is not None and args and "hccl" in str(args[place]):
            args = ("gloo", *args[1:])
        if "hccl" in str(kw.get("backend")):
            kw["backend"] = "gloo"
        device = kw.get("device_id")
        if device is not None and "npu" in str(device):
            kw.pop("device_id")
        return original(*args, **kw)

    return call
