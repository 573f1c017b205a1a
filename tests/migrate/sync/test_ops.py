"""The table of tensor operations says what CPU torch does: every row is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from npudoctor.migrate.sync.ops import ops

FLOATS = (torch.float32, torch.float64, torch.bfloat16)
ELSEWHERE = {"cuda", "npu"}  # methods that need another device
PAIRS = {
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "pow": 2,
    "matmul": 2,
    "mm": 2,
    "bmm": 2,
    "eq": 2,
    "ne": 2,
    "lt": 2,
    "le": 2,
    "gt": 2,
    "ge": 2,
    "maximum": 2,
    "minimum": 2,
    "logical_and": 2,
    "logical_or": 2,
}
ARGUMENTS: dict[str, Callable[[torch.Tensor], tuple[object, ...]]] = {
    "gather": lambda x: (0, torch.zeros_like(x, dtype=torch.long)),
    "softmax": lambda x: (0,),
    "log_softmax": lambda x: (0,),
    "logsumexp": lambda x: (0,),
    "cumsum": lambda x: (0,),
    "flip": lambda x: ((0,),),
    "masked_fill": lambda x: (x > 0, 1.0),
    "lerp": lambda x: (x * 2, 0.5),
    "index_select": lambda x: (0, torch.tensor([0])),
    "repeat": lambda x: (2, 1),
    "to": lambda x: (x.dtype,),
    "view": lambda x: (-1,),
    "reshape": lambda x: (-1,),
    "expand": lambda x: tuple(x.shape),
    "permute": lambda x: (1, 0),
    "transpose": lambda x: (0, 1),
    "unsqueeze": lambda x: (0,),
    "view_as": lambda x: (x,),
    "expand_as": lambda x: (x,),
    "clamp": lambda x: (0.1,),
    "clip": lambda x: (0.1,),
    "clamp_min": lambda x: (0.1,),
    "clamp_max": lambda x: (0.1,),
}


def matrix(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor([[0.25, 0.5], [0.75, 0.125]], dtype=dtype)


def shares(result: torch.Tensor, source: torch.Tensor) -> bool:
    return result.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()


def arguments(name: str, x: torch.Tensor) -> tuple[object, ...]:
    if name in PAIRS:
        return (x.clone(),)
    return ARGUMENTS.get(name, lambda x: ())(x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(set(ops("method")) - ELSEWHERE))
def test_method(name: str, dtype: torch.dtype) -> None:
    op = ops("method")[name]
    x = matrix(dtype)
    logical = name.startswith("logical")
    result = getattr(x, name)(*arguments(name, x > 0 if logical else x))
    check_result(name, op.result, op.storage, op.dims, result, x)


@pytest.mark.parametrize(
    "name", sorted(n for n, op in ops("method").items() if op.dims in ("full", "full-or-pair"))
)
def test_a_reduction_of_a_0dim_tensor_is_new_memory(name: str) -> None:
    x = torch.tensor(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = getattr(x, name)()
    assert result.dim() == 0
    assert not shares(result, x)


@pytest.mark.parametrize("name", sorted(n for n, op in ops("method").items() if op.dims == "full-or-pair"))
def test_with_a_dimension_it_is_a_pair(name: str) -> None:
    assert isinstance(getattr(matrix(torch.float32), name)(0), tuple)


@pytest.mark.parametrize("name", sorted(ops("torch")))
def test_function(name: str) -> None:
    op, x = ops("torch")[name], matrix(torch.float32)
    made = {
        "full": ((2,), 1.0),
        "empty": (2,),
        "eye": (2,),
        "arange": (3,),
        "randint": (3, (2,)),
        "randperm": (3,),
        "linspace": (0, 1, 3),
        "tensor": ([1.0],),
        "as_tensor": ([1.0],),
        "asarray": ([1.0],),
        "from_numpy": (x.numpy(),),
        "full_like": (x, 1.0),
    }
    single = {
        "stack": ((x, x),),
        "cat": ((x, x),),
        "where": (x > 0, x, x),
        "bmm": (x[None], x[None]),
        "logsumexp": (x, 0),
        "softmax": (x, 0),
        "log_softmax": (x, 0),
        "transpose": (x, 0, 1),
        "reshape": (x, (-1,)),
        "unsqueeze": (x, 0),
        "clamp": (x, 0.1),
    }
    if name in made or op.storage == "factory" or name.endswith("Tensor"):
        result = getattr(torch, name)(*made.get(name, (2,)))
        assert isinstance(result, torch.Tensor)
        assert op.result in ("same", {True: "float", False: "int"}[result.dtype.is_floating_point])
        return
    result = getattr(torch, name)(*single.get(name, (x, *arguments(name, x))))
    check_result(name, op.result, op.storage, op.dims, result, x)


@pytest.mark.parametrize("name", sorted(n for n, op in ops("functional").items() if op.dims == "loss"))
def test_losses_are_0dim_and_new(name: str) -> None:
    x = matrix(torch.float32)
    extra = {"gaussian_nll_loss": (x, x, x), "nll_loss": (x, torch.tensor([0, 1]))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = getattr(F, name)(*extra.get(name, (x, x.clone())))
    assert result.dim() == 0
    assert result.dtype.is_floating_point
    assert not shares(result, x)


@pytest.mark.parametrize("name", sorted(ops("module")))
def test_loss_modules_exist(name: str) -> None:
    assert issubclass(getattr(torch.nn, name), torch.nn.Module)


@pytest.mark.parametrize("name", sorted(n for n, op in ops("method").items() if op.module_too))
def test_modules_have_these_methods_too(name: str) -> None:
    assert hasattr(torch.nn.Module, name) or name == "npu"


@pytest.mark.parametrize("name", sorted(n for n, op in ops("method").items() if op.torch_only))
def test_numpy_has_no_such_method(name: str) -> None:
    np = pytest.importorskip("numpy")
    assert not hasattr(np.zeros(1), name)
    assert not hasattr(np.float64(1), name)
    assert not hasattr(torch.nn.Module, name)


def check_result(
    name: str, result_class: str, storage: str, dims: str, result: object, x: torch.Tensor
) -> None:
    """Compare what came out with what the table says."""
    assert isinstance(result, torch.Tensor), name
    found = "float" if result.dtype.is_floating_point else "bool" if result.dtype is torch.bool else "int"
    wanted = {"same": "float", "sum": "float"}.get(result_class, result_class)
    assert found == wanted
    if storage == "new":
        assert not shares(result, x)
    if dims in ("full", "full-or-pair"):
        assert result.dim() == 0
    if dims == "same":
        assert result.shape == x.shape
