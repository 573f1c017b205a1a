"""Give every operator of PyTorch a kernel on the simulated device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from npudoctor.simulate import autocast, collective, islands, kernels, limits, rng
from npudoctor.simulate.aten import operator

_KEEP: list[Any] = []  # a Library unregisters its kernels when it dies
_KEYS = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
# Metadata only, or aliases without saying so: PyTorch's own C++ handles them on any device.
_NATIVE = frozenset({
    "_unsafe_view", "lift", "_fw_primal_copy", "is_pinned", "_nested_view_from_buffer",
    "_assert_scalar", "_make_dep_token", "_print", "sym_constrain_range", "sym_constrain_range_for_size",
    "_version", "data", "set_data", "_has_same_storage_numel", "sym_size.int", "sym_stride.int",
})


def overloads() -> Iterator[tuple[str, Any, bool]]:
    """`(name, overload, has its own CPU kernel)` of each ATen operator that a backend may implement."""
    registered = {key: set(torch._C._dispatch_get_registrations_for_dispatch_key(key)) for key in _KEYS}
    for full in sorted(set().union(*registered.values())):
        if full.startswith("aten::"):
            yield full[6:], operator(full[6:]), full in registered["CPU"]


def kernel_for(name: str, overload: Any, on_cpu: bool, current: Callable[[Any], int]) -> Any:
    """The kernel of one operator, or None when PyTorch's own composition serves."""
    schema = overload._schema
    arguments = schema.arguments
    aliased = [a for a in arguments if a.alias_info is not None]
    if "sparse" in name:
        return kernels.refusing(name)
    if name in _NATIVE or torch.Tag.inplace_view in overload.tags:
        return None
    if any(a.is_out for a in arguments):
        return kernels.resizing(overload)
    if aliased and not any(a.alias_info.is_write for a in aliased):
        return kernels.view(overload) if on_cpu else None
    if all(kind == "S" for kind, _ in kernels.kinds_of(schema)):
        return kernels.factory(overload, current)
    if any(a.name == "device" for a in arguments):
        return kernels.like(overload)
    return kernels.compiled(overload, limits.of(name))


def install(current: Callable[[Any], int], special: dict[str, Any]) -> int:
    """Register all kernels; `special` maps operator names to hand-written ones. Returns their number."""
    library = torch.library.Library("aten", "IMPL")
    _KEEP.append(library)
    count = 0
    for name, overload, on_cpu in overloads():
        kernel = special[name] if name in special else kernel_for(name, overload, on_cpu, current)
        if kernel is not None:
            if torch.Tag.nondeterministic_seeded in overload.tags:
                kernel = rng.drawing(kernel)
            if not getattr(kernel, "checks_limits", False):
                kernel = limits.checked(name, kernel)
            library.impl(name, kernel, "PrivateUse1")
            count += 1
    for name in islands.NAMES:
        kernel = islands.island(operator(name))
        library.impl(name, kernel, "AutogradPrivateUse1")
        library.impl(name, kernel, "PrivateUse1")
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        library.impl("_has_compatible_shallow_copy_type", _compatible, key)
    every = torch.library.Library("_", "IMPL")
    _KEEP.append(every)
    autocast.install(library, every)
    collective.install(_KEEP)
    return count


def _compatible(first: Any, second: Any) -> bool:
    """Whether `first.data = second` may turn a host tensor into a device tensor: yes, as in torch_npu.

    Without it `module.to("npu")` would make new parameters, and an optimizer made before would
    go on updating the old ones.
    Source: https://github.com/Ascend/pytorch (the operator is registered for CPU and NPU alike).
    """
    return {first.device.type, second.device.type} <= {"cpu", "npu"}
