"""`torch.npu.amp`: autocast and the gradient scaler under torch_npu's names."""

from __future__ import annotations

from typing import Any

import torch


class autocast(torch.amp.autocast_mode.autocast):
    """`torch.autocast("npu")`, half precision unless told otherwise."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """Scales losses so that half-precision gradients do not vanish."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True, dynamic: bool = True, **_: Any,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(*args: Any, **kw: Any) -> Any:
    """`torch.amp.custom_fwd` for this device."""
    return torch.amp.custom_fwd(*args, device_type="npu", **kw)


def custom_bwd(*args: Any, **kw: Any) -> Any:
    """`torch.amp.custom_bwd` for this device."""
    return torch.amp.custom_bwd(*args, device_type="npu", **kw)
