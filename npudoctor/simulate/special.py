"""Hand-written kernels: copies between host and device, reads that wait, storage changes."""

from __future__ import annotations

from typing import Any

import torch

from npudoctor.simulate import devices, kernels, limits, live, pinned
from npudoctor.simulate.aten import operator
from npudoctor.simulate.bridge import device_code, to_device, to_host
from npudoctor.simulate.recorder import D2H, H2D

aten = torch.ops.aten
CPU = torch.device("cpu")


_COPIED = limits.of("copy_")
_CONVERTED = limits.of("_to_copy")


def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """`target.copy_(source)` where at least one of the two is on the device."""
    to_npu, from_npu = not target.is_cpu, not source.is_cpu
    host_target = to_host(target) if to_npu else target
    host_source = to_host(source) if from_npu else source
    if to_npu:
        _check(_COPIED, host_target.dtype)
    host_target.copy_(host_source)
    if to_npu and from_npu:
        live.launch("copy_")
    elif live.recorder is not None:
        if to_npu:
            _upload(host_source, non_blocking)
        else:
            _download(host_source, non_blocking, host_target)
    return target


def _check(limit: Any, dtype: Any) -> None:
    if limit is not None and dtype in limit[0]:
        limit[1](dtype)


def _upload(source: Any, non_blocking: bool) -> Any:
    # torch_npu turns a non_blocking copy from pageable memory into a blocking one.
    blocking = not (non_blocking and pinned.is_pinned(source))
    return live.recorder.transfer(H2D, source.nbytes, blocking, "h2d", 4)  # type: ignore[union-attr]


def _download(source: Any, non_blocking: bool, target: Any = None) -> None:
    blocking = not (non_blocking and (target is None or pinned.is_pinned(target)))
    live.recorder.transfer(D2H, source.nbytes, blocking, "d2h", 4)  # type: ignore[union-attr]


def _to_copy(self: Any, **kw: Any) -> Any:
    """`self.to(...)` that has to copy; `self` or the target is on the device."""
    device = kw.pop("device", None)
    non_blocking = kw.pop("non_blocking", False)
    kw.pop("pin_memory", None)
    here = self.device
    target = here if device is None else device
    from_kind, to_kind = here.type, target.type
    if from_kind == "npu" and to_kind == "npu":
        return _within(self, here, target, kw)
    if from_kind not in _REAL or to_kind not in _REAL:
        raise NotImplementedError(f"the simulated NPU cannot copy from {from_kind} to {to_kind}")
    host = to_host(self) if from_kind == "npu" else self
    result = _host_copy(host, **kw) if kw else host.clone()
    if to_kind == "cpu":
        if live.recorder is not None:
            _download(host, non_blocking)
        return result
    _check(_CONVERTED, result.dtype)
    where = None
    if live.recorder is not None:
        where = _upload(host, non_blocking)
    code = device_code(devices.resolve(target))
    live.allocated(result, code, where)
    return to_device(result, code)


_REAL = ("cpu", "npu")
_host_copy = aten._to_copy.default._op


def _within(self: Any, here: Any, target: Any, kw: Any) -> Any:
    """A change of type, or a copy to another device."""
    result = _host_copy(to_host(self), **kw)
    _check(_CONVERTED, result.dtype)
    code = device_code(here.index if target == here else devices.resolve(target))
    where = live.launch("_to_copy")
    live.allocated(result, code, where)
    return to_device(result, code)


def _local_scalar_dense(self: Any) -> Any:
    """Read one number: the host waits for everything queued."""
    if live.recorder is not None:
        live.recorder.sync("item")
    return to_host(self).item()


copy_.checks_limits = _to_copy.checks_limits = True  # type: ignore[attr-defined]


def waiting(overload: Any, cause: str) -> Any:
    """A kernel whose result the host has to see before it can go on."""
    inner = kernels.compiled(overload)

    def kernel(*args: Any, **kw: Any) -> Any:
        if live.recorder is not None:
            live.recorder.sync(cause)
        return inner(*args, **kw)

    return kernel


def indexing(overload: Any) -> Any:
    """`t[...]` with tensors: a boolean mask waits for its count."""
    inner = kernels.compiled(overload)

    def kernel(self: Any, indices: Any, *rest: Any, **kw: Any) -> Any:
        if live.recorder is not None:
            for index in indices:
                if index is not None and index.dtype in (torch.bool, torch.uint8):
                    live.recorder.sync("mask")
        device = self.device
        if device.type != "npu":
            raise RuntimeError(
                f"indices should be either on {device} or on the same device as the indexed tensor ({device})"
            )
        moved = [i if i is None or i.device == device else i.to(device) for i in indices]
        return inner(self, moved, *rest, **kw)

    return kernel


def _pack_padded_sequence(data: Any, lengths: Any, batch_first: bool) -> Any:
    """Packed data on the device; the batch sizes stay on the host, as on every device."""
    host = to_host(data)
    packed, sizes = aten._pack_padded_sequence.default(host, lengths, batch_first)
    where = live.launch("_pack_padded_sequence")
    code = device_code(data.device.index)
    live.allocated(packed, code, where)
    return to_device(packed, code), sizes


def resize_(self: Any, size: Any, memory_format: Any = None) -> Any:
    """Change the shape in place; grows into new memory when the old is too small."""
    host = to_host(self)
    needed = 1
    for extent in size:
        needed *= extent
    if needed <= host.untyped_storage().nbytes() // max(1, host.element_size()) - host.storage_offset():
        self.data = aten.as_strided.default(self.detach(), size, _contiguous(size), self.storage_offset())
        return self
    fresh = torch.empty(size, dtype=host.dtype)
    fresh.view(-1)[: host.numel()].copy_(host.reshape(-1))
    code = device_code(self.device.index)
    live.allocated(fresh, code, None)
    self.data = to_device(fresh, code)
    return self


def _contiguous(size: Any) -> list[int]:
    strides, step = [], 1
    for extent in reversed(size):
        strides.append(step)
        step *= max(1, extent)
    return strides[::-1]


def _efficientzerotensor(size: Any, **kw: Any) -> Any:
    """PyTorch's tensor of zeros without memory; here it has memory."""
    kw.pop("pin_memory", None)
    return torch.zeros(size, **kw)


def table() -> dict[str, Any]:
    """Operator name -> kernel, for those that the schema alone cannot describe."""
    redirected = ("set_.source_Storage_storage_offset", "set_.source_Tensor", "set_.source_Storage", "set_",
                  "is_set_to")
    found: dict[str, Any] = {
        "copy_": copy_, "_to_copy": _to_copy, "_local_scalar_dense": _local_scalar_dense, "resize_": resize_,
        "_efficientzerotensor": _efficientzerotensor, "_pack_padded_sequence": _pack_padded_sequence,
    }
    for name in redirected:
        found[name] = kernels.view(operator(name))
    for name, cause in WAITING.items():
        found[name] = waiting(operator(name), cause)
    for name in ("index.Tensor", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index.Tensor",
                 "_unsafe_index_put"):
        found[name] = indexing(operator(name))
    return found


WAITING = {
    "nonzero": "nonzero", "masked_select": "mask", "_unique2": "nonzero", "_unique": "nonzero",
    "unique_dim": "nonzero", "unique_consecutive": "nonzero", "unique_dim_consecutive": "nonzero",
    "repeat_interleave.Tensor": "nonzero", "equal": "item", "bincount": "nonzero",
}

