"""`torch.npu`: what the simulation offers of it, under torch_npu's names."""

from __future__ import annotations

import types
from typing import Any

import torch

from npudoctor.simulate import devices, live, rng, streams
from npudoctor.simulate.bridge import device_code
from npudoctor.simulate.names import Names

MEBIBYTE = 1 << 20


def is_in_bad_fork() -> bool:
    return devices.in_bad_fork()


class device:
    """`with torch.npu.device(1):` makes a device current for the calling thread."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else devices.resolve(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = devices.choose(self.idx) if self.idx >= 0 else -1

    def __exit__(self, *_: object) -> None:
        if self.prev_idx >= 0:
            devices.choose(self.prev_idx)


class device_of(device):
    """The device of a tensor, or nothing when it is elsewhere."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "npu" else None)


def set_device(device: Any) -> None:
    devices.choose(devices.resolve(device))


def device_count() -> int:
    return devices.count


def current_device() -> int:
    return devices.current()


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return not is_in_bad_fork()


def init() -> None:
    lazy_init()


def lazy_init() -> None:
    """Refuse in a forked child, as torch_npu does."""
    devices.use()


def synchronize(device: Any = None) -> None:
    devices.resolve(device)
    streams.wait("synchronize")


def stream(stream: Any) -> streams.StreamContext:
    return streams.StreamContext(stream)


def empty_cache() -> None:
    """Give cached memory back; on an NPU this waits for the whole device."""
    streams.wait("empty_cache")


def _memory(device: Any) -> list[int]:
    if live.recorder is None:
        return [0, 0]
    live.recorder.fold()
    return live.recorder.memory.setdefault(device_code(devices.resolve(device)), [0, 0])


def memory_allocated(device: Any = None) -> int:
    return _memory(device)[0]


def max_memory_allocated(device: Any = None) -> int:
    return _memory(device)[1]


def reset_peak_memory_stats(device: Any = None) -> None:
    memory = _memory(device)
    memory[1] = memory[0]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    total = properties.total_memory
    return total - memory_allocated(device), total


def memory_stats(device: Any = None) -> dict[str, int]:
    current, peak = _memory(device)
    return {"allocated_bytes.all.current": current, "allocated_bytes.all.peak": peak,
            "reserved_bytes.all.current": current, "reserved_bytes.all.peak": peak}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    current, peak = _memory(device)
    return f"simulated npu: {current / MEBIBYTE:.1f} MiB allocated, peak {peak / MEBIBYTE:.1f} MiB"


class Properties:
    """Name and memory of the simulated device."""

    name = "Ascend910B3 (simulated)"
    total_memory = 64 << 30
    major = minor = 0
    multi_processor_count = 0

    def __repr__(self) -> str:
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory // MEBIBYTE}MB)"


properties = Properties()


def get_device_properties(device: Any = None) -> Properties:
    devices.resolve(device)
    return properties


def get_device_name(device: Any = None) -> str:
    devices.resolve(device)
    return properties.name


def get_rng_state_all() -> list[torch.Tensor]:
    return [rng.get_rng_state(i) for i in range(devices.count)]


def set_rng_state_all(states: Any) -> None:
    for index, state in enumerate(states):
        rng.set_rng_state(state, index)


def seed() -> None:
    torch.seed()


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    return True


def set_autocast_enabled(enabled: bool) -> None:
    torch.set_autocast_enabled("npu", enabled)


def is_autocast_enabled() -> bool:
    return torch.is_autocast_enabled("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    torch.set_autocast_dtype("npu", dtype)


def get_autocast_dtype() -> torch.dtype:
    return torch.get_autocast_dtype("npu")


def set_sync_debug_mode(debug_mode: Any) -> None:
    """Accepted; the simulator reports every sync by line anyway."""


def get_sync_debug_mode() -> int:
    return 0


def can_device_access_peer(device_id: int, peer_device_id: int) -> bool:
    return devices.check(device_id) != devices.check(peer_device_id)


def ignored(*_: Any, **__: Any) -> None:
    """A switch of the real device's runtime that changes no number and that nothing here obeys."""


_SWITCHES = (
    "set_compile_mode", "set_option", "set_aoe", "set_dump", "init_dump", "finalize_dump", "ipc_collect",
    "set_per_process_memory_fraction", "set_deterministic_level", "set_op_timeout_ms", "host_empty_cache",
    "set_stream_limit", "set_device_limit", "set_task_queue_enable", "clear_npu_overflow_flag",
)


def _amp() -> types.ModuleType:
    from npudoctor.simulate import amp

    module = Names("torch.npu.amp", "torch_npu.npu.amp")
    for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd"):
        setattr(module, name, getattr(amp, name))
    return module


def _legacy_types() -> dict[str, Any]:
    """`torch.npu.FloatTensor` and its kin: constructors only."""
    pairs = {
        "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
        "Int": torch.int32, "Long": torch.int64, "Short": torch.int16, "Char": torch.int8,
        "Byte": torch.uint8, "Bool": torch.bool,
    }
    return {f"{name}Tensor": _legacy(f"{name}Tensor", dtype) for name, dtype in pairs.items()}


def _legacy(name: str, dtype: torch.dtype) -> type:
    def new(cls: type, *size: Any) -> torch.Tensor:
        if size and all(isinstance(extent, int) for extent in size):
            return torch.empty(size, dtype=dtype, device="npu")
        return torch.tensor(size[0] if size else [], dtype=dtype, device="npu")

    return type(name, (), {"__new__": new, "dtype": dtype})


def build() -> types.ModuleType:
    """The module object: what is defined here, plus torch_npu's other names as refusals."""
    module = Names("torch.npu", "torch_npu.npu")
    module.__doc__ = "torch.npu of a SIMULATED NPU (npudoctor simulate); nothing here touches hardware."
    given = {
        "device": device, "device_of": device_of, "_is_in_bad_fork": is_in_bad_fork, "_lazy_init": lazy_init,
        "Stream": streams.Stream, "Event": streams.Event, "StreamContext": streams.StreamContext,
        "current_stream": streams.current, "default_stream": streams.default, "set_stream": streams.choose,
        "manual_seed": rng.manual_seed, "manual_seed_all": rng.manual_seed_all, "seed_all": seed,
        "get_rng_state": rng.get_rng_state, "set_rng_state": rng.set_rng_state,
        "initial_seed": rng.initial_seed, "memory_reserved": memory_allocated,
        "memory_cached": memory_allocated,
        "max_memory_reserved": max_memory_allocated, "max_memory_cached": max_memory_allocated,
        "reset_max_memory_allocated": reset_peak_memory_stats,
        "reset_max_memory_cached": reset_peak_memory_stats,
        "is_simulated": True,
    }
    own = (
        set_device, device_count, current_device, is_available, is_initialized, init, synchronize, stream,
        empty_cache, memory_allocated, max_memory_allocated, reset_peak_memory_stats, mem_get_info,
        memory_stats, memory_summary, get_device_properties, get_device_name, get_rng_state_all,
        set_rng_state_all, seed, get_amp_supported_dtype, is_bf16_supported, set_sync_debug_mode,
        get_sync_debug_mode, can_device_access_peer, set_autocast_enabled, is_autocast_enabled,
        set_autocast_dtype, get_autocast_dtype,
    )
    given.update({function.__name__: function for function in own})
    given.update(dict.fromkeys(_SWITCHES, ignored))
    setattr(module, "amp", _amp())  # noqa: B010 - mypy knows no attributes of a module object
    given.update(_legacy_types())
    for name, value in given.items():
        setattr(module, name, value)
    return module

