"""`torch.autocast("npu")`: which operators run in half precision, in float32, or in the widest type.

The lists follow PyTorch's policy for accelerators, which torch_npu registers for its device.
Source: https://docs.pytorch.org/docs/stable/amp.html (CUDA op-specific behavior).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

LOWER = (
    "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d.input",
    "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm",
    "mv",
    "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "lstm_cell", "gru_cell",
    "rnn_tanh_cell", "rnn_relu_cell", "scaled_dot_product_attention", "lstm.input", "gru.input",
)
SINGLE = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
    "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm",
    "group_norm", "norm.Scalar", "norm.ScalarOpt_dim", "cosine_similarity", "poisson_nll_loss",
    "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss",
    "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
    "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits",
    "dist", "pdist", "cdist", "renorm", "logsumexp", "prod", "prod.dim_int", "softmax.int", "log_softmax.int",
    "cumprod", "cumsum", "sum", "sum.dim_IntList",
)
WIDEST = (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "tensordot",
    "scatter_add", "cat", "stack",
)
_KEY: Any = getattr(torch._C.DispatchKey, "AutocastPrivateUse1")  # noqa: B009 - missing in the stubs
_HALF = (torch.float16, torch.bfloat16)


def install(library: Any, fallback: Any) -> None:
    """Register the three policies; every other operator falls through."""
    fallback.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for names, policy in ((LOWER, _lower), (SINGLE, _single), (WIDEST, _widest)):
        for name in names:
            base, _, variant = name.partition(".")
            overload = getattr(getattr(torch.ops.aten, base), variant or "default")
            library.impl(name, policy(overload), "AutocastPrivateUse1")


def _map(values: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, (tuple, list)):
        return type(values)(_map(value, change) for value in values)
    return values


def _to(dtype: torch.dtype) -> Callable[[Any], Any]:
    def change(tensor: Any) -> Any:
        wanted = tensor.device.type == "npu" and tensor.is_floating_point()
        return tensor.to(dtype) if wanted and tensor.dtype not in (dtype, torch.float64) else tensor

    return change


def _lower(overload: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kw: Any) -> Any:
        change = _to(torch.get_autocast_dtype("npu"))
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*_map(args, change), **{k: _map(v, change) for k, v in kw.items()})

    return kernel


def _single(overload: Any) -> Callable[..., Any]:
    change = _to(torch.float32)

    def kernel(*args: Any, **kw: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*_map(args, change), **kw)

    return kernel


def _widest(overload: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kw: Any) -> Any:
        seen: list[torch.dtype] = []
        _map(args, lambda t: seen.append(t.dtype) or t)  # type: ignore[func-returns-value]
        halves = {dtype for dtype in seen if dtype in _HALF}
        wide = torch.float32 in seen or len(halves) != 1
        change = _to(torch.float32 if wide else halves.pop())
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
            return overload(*_map(args, change), **kw)

    return kernel
