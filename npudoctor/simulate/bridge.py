"""Turn a host tensor into a simulated-NPU tensor over the same memory, and back.

A simulated tensor is a genuine tensor of PyTorch's out-of-tree backend (PrivateUse1), not
a subclass: its device, views, autograd history and errors are PyTorch's own. PyTorch offers
no Python call that makes one over existing memory, but the DLPack exchange does: a capsule
made from a host tensor is read back with the device code of an extension device. Both
directions share memory and lifetime and cost about half a microsecond.

`CELLS` views the process's memory as 64-bit words. The device code is one such word: type in
the low half (1 = CPU, 12 = extension device), index in the high half.
Layout: https://dmlc.github.io/dlpack/latest/c_api.html (DLManagedTensor, DLTensor, DLDevice).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch

HOST = 1
EXTENSION = 12  # kDLExtDev
CELLS: Any = (ctypes.c_int64 * (2**59)).from_address(0)
# A PyCapsule keeps its pointer right after the object header (two words unless free-threaded).
CAPSULE_POINTER = 16

to_capsule = torch._C._to_dlpack
from_capsule = torch._C._from_dlpack


def device_code(index: int) -> int:
    """The DLPack device word of simulated device `index`."""
    return EXTENSION | (index << 32)


def index_of(code: int) -> int:
    """The simulated device's index in a DLPack device word."""
    return code >> 32


def device_cell(capsule: object) -> int:
    """Position in `CELLS` of the device word of a DLPack capsule."""
    return (CELLS[(id(capsule) + CAPSULE_POINTER) >> 3] + 8) >> 3


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """A host tensor over the memory of a simulated one: same sizes and strides, no autograd."""
    capsule = to_capsule(tensor)
    CELLS[device_cell(capsule)] = HOST
    host = from_capsule(capsule)
    if tensor.is_conj():  # DLPack carries neither bit
        host = host.conj()
    return host._neg_view() if tensor.is_neg() else host


def to_device(tensor: torch.Tensor, code: int) -> torch.Tensor:
    """A simulated tensor over the memory of a host one; `code` from `device_code`."""
    capsule = to_capsule(tensor)
    CELLS[device_cell(capsule)] = code
    return from_capsule(capsule)


def works() -> bool:
    """Whether this interpreter lays capsules out as `device_cell` assumes."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = to_capsule(torch.zeros(2))
    address = pointer(capsule, b"dltensor")
    stored = ctypes.c_int64.from_address(id(capsule) + CAPSULE_POINTER).value
    return bool(address == stored and ctypes.c_int64.from_address(address + 8).value == HOST)
