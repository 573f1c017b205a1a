"""Which names and arguments can only hold a torch device, or a collective backend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: A text with none of them uses no accelerator, before or after a migration.
ACCELERATOR_WORDS = ("cuda", "torch_npu", ".npu", ".is_npu", '"npu', "'npu")

_DEVICE_NAME = re.compile(
    r"^(?:.*_)?(?:device|dev|map_location)(?:_?\d+)?(?:_(?:type|name|str|string|module_name))?$",
    re.I,
)
_DEVICE_LIST = re.compile(r"^(?:.*_)?(?:devices|devs)$", re.I)
_BACKEND_NAME = re.compile(r"^(?:.*_)?backend(?:_name|_type)?$", re.I)
# Devices of simulators and renderers stay where the simulator runs.
_FOREIGN_NAME = re.compile(
    r"^_?(?:sim|simulation|simulator|physics|physx|graphics|render|rendering|headless|warp)(?:_\w+)?$", re.I
)
FOREIGN_ROOTS = frozenset(
    {
        "jax",
        "jaxlib",
        "flax",
        "warp",
        "cupy",
        "numba",
        "tensorflow",
        "isaacgym",
        "isaacsim",
        "isaaclab",
        "omni",
        "mujoco_warp",
        "faiss",
        "onnxruntime",
        "pycuda",
        "brax",
        "newton",
        "paddle",
        "mxnet",
        "taichi",
    }
)
# Function -> index of the positional argument that is a device.
_DEVICE_ARGUMENT = {
    "torch.device": 0,
    "torch.Generator": 0,
    "torch.autocast": 0,
    "torch.amp.autocast": 0,
    "torch.amp.autocast_mode.autocast": 0,
    "torch.amp.GradScaler": 0,
    "torch.set_default_device": 0,
    "torch.get_device_module": 0,
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.is_autocast_enabled": 0,
    "torch.get_autocast_dtype": 0,
    "torch.set_autocast_dtype": 0,
    "torch.set_autocast_enabled": 0,
    "torch.amp.is_autocast_available": 0,
    "torch.cuda.set_device": 0,
    "torch.npu.set_device": 0,
    "torch.cuda.device": 0,
    "torch.npu.device": 0,
    "torch.distributed.init_device_mesh": 0,
    "torch.distributed.device_mesh.init_device_mesh": 0,
    "torch.distributed.device_mesh.DeviceMesh": 0,
    "torch.distributed.tensor.DeviceMesh": 0,
    "torch.distributed._tensor.DeviceMesh": 0,
}
_BACKEND_ARGUMENT = {
    "torch.distributed.init_process_group": 0,
    "torch.distributed.new_group": 2,
    "torch.distributed.Backend": 0,
    "torch.distributed.is_backend_available": 0,
}


@dataclass(frozen=True)
class Vocabulary:
    """What counts as a place for one sort of string: names, lists of them, arguments of torch."""

    name: re.Pattern[str]
    names: re.Pattern[str] | None
    arguments: Mapping[str, int]
    methods: frozenset[str] = frozenset()

    def fits(self, name: str | None) -> bool:
        """Whether a variable, parameter, key or option of this name can only hold such a string."""
        if not name:
            return False
        name = name.lstrip("-").replace("-", "_").rsplit(".", 1)[-1]
        return self.name.match(name) is not None and _FOREIGN_NAME.match(name) is None

    def ends_as(self, name: str | None) -> bool:
        """The same for the name of an object known to be torch's, a simulator's included."""
        return name is not None and self.name.match(name) is not None

    def fits_list(self, name: str | None) -> bool:
        """Whether a list of this name can only hold such strings."""
        return self.names is not None and self.names.match(name or "") is not None


DEVICE = Vocabulary(
    _DEVICE_NAME, _DEVICE_LIST, _DEVICE_ARGUMENT, frozenset({"to", "to_empty", "cuda", "npu"})
)
BACKEND = Vocabulary(_BACKEND_NAME, None, _BACKEND_ARGUMENT)


def is_device_name(name: str | None) -> bool:
    """Whether a variable, parameter, key or option of this name can only hold a torch device."""
    return DEVICE.fits(name)


def is_simulator_name(name: str | None) -> bool:
    """Whether a name belongs to a simulator or renderer (`sim_device`, `graphics_device_id`)."""
    return name is not None and _FOREIGN_NAME.match(name) is not None
