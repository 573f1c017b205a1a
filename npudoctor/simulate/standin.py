"""`import torch_npu` while a simulation is active: a module that says it is simulated."""

from __future__ import annotations

import importlib.machinery
import types
from typing import Any

import torch

from npudoctor.simulate.names import Names

DOC = (
    "torch_npu stand-in of `npudoctor simulate`: a SIMULATED NPU. "
    "Operators run on the CPU; names that the real torch_npu has but the simulation lacks raise when used."
)
_SUBMODULES = (
    "npu.amp", "npu.memory", "npu.random", "npu.streams", "npu.utils", "profiler", "utils", "optim",
    "contrib", "contrib.module", "contrib.function", "distributed", "testing",
)


def build(npu: types.ModuleType) -> dict[str, types.ModuleType]:
    """`torch_npu` and its submodules, by the name to put into sys.modules."""
    version = f"{torch.__version__.split('+')[0]}+simulated"
    root = _module("torch_npu", __version__=version, is_simulated=True, npu=npu)
    modules = {"torch_npu": root, "torch_npu.npu": npu, "torch.npu": npu}
    for name in _SUBMODULES:
        module = _module(f"torch_npu.{name}")
        for shared in ("memory", "random", "streams", "utils"):
            if name == f"npu.{shared}":
                _share(npu, module)
        parent_name, _, child = f"torch_npu.{name}".rpartition(".")
        if parent_name == "torch_npu.npu" and hasattr(type(npu), "__getattr__") and child in npu.__dict__:
            module = npu.__dict__[child]
        else:
            setattr(modules[parent_name], child, module)
        modules[f"torch_npu.{name}"] = module
    return modules


def _module(name: str, **attributes: Any) -> types.ModuleType:
    module = Names(name, name)
    module.__doc__ = DOC
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, origin="npudoctor simulate", is_package=True)
    module.__path__ = []
    for key, value in attributes.items():
        setattr(module, key, value)
    return module


def _share(source: types.ModuleType, target: types.ModuleType) -> None:
    """A submodule offers what `torch.npu` implements under the same names."""
    from npudoctor.simulate.names import known

    for name in known(target.__name__):
        if name in source.__dict__:
            setattr(target, name, source.__dict__[name])
