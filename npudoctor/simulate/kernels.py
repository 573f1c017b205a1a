"""One kernel per ATen operator for the simulated device, written from the operator's schema.

A kernel reads its tensors as host tensors over the same memory, calls PyTorch's CPU kernel of
the same operator, and hands the results back as tensors of the device. So values are the CPU's
bit for bit, and memory is shared, never copied. Operators with the same shape of schema share
one compiled factory: some hundred factories serve two thousand operators.

Left to PyTorch's own C++: every operator that is composed of others for all backends, and every
view (they only change sizes and strides; `as_strided` and a few more are redirected to the CPU's).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch

from npudoctor.simulate import live
from npudoctor.simulate.bridge import (
    CELLS,
    HOST,
    device_cell,
    device_code,
    from_capsule,
    index_of,
    to_capsule,
    to_device,
    to_host,
)

CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
CPU = torch.device("cpu")
Tensor = torch.Tensor
Limit = tuple  # (set of types, function of the type)

_FACTORY = """
def make(
    name, run, run_numbers, CPU_KEYS, launch, allocated, odd, host_list, wrap_all, resolved, CELLS, capsule,
    tensor_of, NUMBERS, LIMITED, limited, DEFAULTS,
):
{defaults}
    def kernel({signature}):
        dev = 0; go = run
{body}
        o = go(CPU_KEYS, {call})
        where = launch(name, {work})
{result}
    return kernel
"""
# A Python number in a tensor's place arrives as a number, and PyTorch's CPU kernel takes it as one.
_NUMBERS = frozenset((float, int, bool, complex))
_TENSOR = """if {a}.__class__ in NUMBERS:
    h{a} = {a}; go = run_numbers
else:
    c = capsule({a}); q = (CELLS[(id(c) + 16) >> 3] + 8) >> 3; d = CELLS[q]
    if d == dev or (dev == 0 and d != 1):
        dev = d; CELLS[q] = 1; h{a} = tensor_of(c)
    else:
        h{a} = odd(name, {a}, d, dev)"""
# Only in front of operators that some chip limits (limits.py).
_LIMIT = "if {a}.dtype in LIMITED: bad = {a}.dtype"
_ONE = """allocated(o, dev, where)
c = capsule(o); CELLS[(CELLS[(id(c) + 16) >> 3] + 8) >> 3] = dev
return tensor_of(c)"""


_MAY_CONJUGATE = (
    "_fft", "fft", "_linalg", "linalg", "conj", "_conj", "resolve", "triangular", "lu_", "ormqr",
)
# PyTorch hands these their operands with the conjugate or negative bit still set.
_TAKES_CONJUGATES = frozenset({
    "clone", "dot", "vdot", "mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "addmv", "addmv_", "mv",
    "linalg_svd", "_linalg_svd", "_conj_physical", "conj_physical", "linalg_solve_triangular",
    "linalg_vecdot",
})
# Lengths and batch sizes of packed sequences are host tensors on every device.
HOST_ARGUMENTS = frozenset({"_pack_padded_sequence", "_pack_padded_sequence_backward"})


def mismatch(name: str, here: str, there: str) -> RuntimeError:
    """The error that operands on two devices raise, in PyTorch's words."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, "
        f"{here} and {there}! (when checking arguments of {name})"
    )


def odd(name: str, tensor: Any, code: int, dev: int) -> Any:
    """A tensor that is not on the operator's device: a host scalar passes, all else is an error."""
    if code == HOST:
        if tensor.dim() == 0 or name in HOST_ARGUMENTS:
            return tensor
        raise mismatch(name, f"npu:{index_of(dev)}" if dev else "npu:0", "cpu")
    raise mismatch(name, f"npu:{index_of(dev)}", f"npu:{index_of(code)}")


def resolved(tensor: Any) -> tuple[Any, int]:
    """A host tensor with the conjugate and negative bits carried out, and its device."""
    return to_host(tensor).resolve_conj().resolve_neg(), device_code(tensor.device.index)


def host_list(name: str, tensors: Any, dev: int) -> tuple[Any, int]:
    """Host tensors for a list (None stays None), and the device they are on."""
    if tensors is None or isinstance(tensors, (int, float, complex)):
        return tensors, dev
    if isinstance(tensors, Tensor):
        tensors, single = [tensors], True
    else:
        single = False
    found: list[Any] = []
    for tensor in tensors:
        if tensor is None:
            found.append(None)
            continue
        capsule = to_capsule(tensor)
        cell = device_cell(capsule)
        code = CELLS[cell]
        if code == dev or (dev == 0 and code != HOST):
            dev = code
            CELLS[cell] = HOST
            found.append(from_capsule(capsule))
        else:
            found.append(odd(name, tensor, code, dev))
    return (found[0] if single else found), dev


def wrap_all(result: Any, dev: int, where: Any) -> Any:
    """Results as tensors of the device; numbers and None pass through."""
    if isinstance(result, Tensor):
        # DLPack carries no conjugate or negative bit.
        if result.is_conj() or result.is_neg():
            result = result.resolve_conj().resolve_neg()
        live.allocated(result, dev, where)
        return to_device(result, dev)
    if isinstance(result, (tuple, list)):
        return type(result)(wrap_all(item, dev, where) for item in result)
    return result


def kinds_of(schema: Any) -> list[tuple[str, Any]]:
    """Per argument: `T` tensor, `O` optional tensor, `L` list of tensors, `S` anything else."""
    kinds = []
    for argument in schema.arguments:
        text = str(argument.type)
        kind = "S"
        if text == "Tensor":
            kind = "T"
        elif text == "Optional[Tensor]":
            kind = "O"
        elif "Tensor" in text:
            kind = "L"
        kinds.append((kind, argument))
    return kinds


def compiled(overload: Any, limit: Limit | None = None) -> Callable[..., Any]:
    """The kernel of one operator overload that computes something.

    Args:
        limit: the types that the real device does not take here (a set that may change), and what to
            call with the type when one is met.
    """
    schema = overload._schema
    kinds = kinds_of(schema)
    positional = [(k, a) for k, a in kinds if not a.kwarg_only]
    last = max((i for i, (k, _) in enumerate(positional) if k != "S"), default=-1)
    shape = "".join(
        k + ("=" if a.has_default_value() else "") for k, a in positional[: last + 1]
    )
    extra = tuple(a.name for k, a in kinds if a.kwarg_only and k != "S")
    defaults = tuple(a.default_value if a.has_default_value() else None for _, a in positional)
    bits = schema.name.replace("aten::", "") in _TAKES_CONJUGATES
    result = _result_of(overload, positional)
    make = _factory(shape, extra, result, bits, _work_of(schema.name, result), limit is not None)
    kernel = make(
        schema.name.replace("aten::", ""), overload._handle.redispatch_boxed, _taking_numbers(overload),
        CPU_KEYS, live.launch, live.allocated, odd, host_list, wrap_all, resolved, CELLS, to_capsule,
        from_capsule, _NUMBERS, *(limit or (frozenset(), None)), defaults,
    )
    kernel.checks_limits = True
    return kernel


# Matrix products: the operand whose last extent is summed over.
_PRODUCTS = {"mm": "ha0", "bmm": "ha0", "addmm": "ha1", "baddbmm": "ha1", "linear": "ha0"}


def _work_of(name: str, result: str) -> str:
    """An expression for the work of a call: bytes written, or minus the operations of a product."""
    left = _PRODUCTS.get(name.replace("aten::", ""))
    if result is _ONE:
        return f"-2 * o.numel() * {left}.shape[-1]" if left else "o.nbytes"
    if result == "return a0":
        return "ha0.nbytes if ha0.__class__ is not list else 0"
    return "0"


def _taking_numbers(overload: Any) -> Callable[..., Any]:
    """The call that accepts a Python number where the schema has a tensor."""
    run = overload._op

    def call(_keys: Any, *args: Any, **kw: Any) -> Any:
        return run(*args, **kw)

    return call


def _result_of(overload: Any, positional: list[tuple[str, Any]]) -> str:
    """How the result is made: the written argument itself, one tensor, or anything else."""
    returns = overload._schema.returns
    written = [r for r in returns if r.alias_info is not None and r.alias_info.is_write]
    if written:
        before = [a.alias_info.before_set if a.alias_info else None for _, a in positional]
        places = [before.index(r.alias_info.before_set) for r in written]
        names = ", ".join(f"a{p}" for p in places)
        return f"return {names}" if len(places) == 1 else f"return ({names})"
    if not returns:
        return "return None"
    lazy = overload._schema.name.replace("aten::", "").startswith(_MAY_CONJUGATE)
    if len(returns) == 1 and str(returns[0].type) == "Tensor" and not lazy:
        return _ONE
    return "return wrap_all(o, dev, where)"


@functools.cache
def _factory(
    shape: str, extra: tuple[str, ...], result: str, bits: bool, work: str, limit: bool
) -> Callable[..., Any]:
    kinds = list(_split(shape))
    signature, body, call = [], [], []
    for number, (kind, default) in enumerate(kinds):
        name = f"a{number}"
        signature.append(name + (f"=D{number}" if default else ""))
        call.append(name if kind == "S" else f"h{name}")
        if kind == "T":
            lines = (_TENSOR + ("\n    " + _LIMIT if limit else "")).format(a=name).splitlines()
            if bits:
                body += [f"if {name}.is_conj() or {name}.is_neg():",
                         f"    h{name}, dev = resolved({name})", "else:"]
                lines = ["    " + line for line in lines]
            body += lines
        elif kind == "O":
            body += [f"h{name} = None", f"if {name} is not None:"]
            body += ["    " + line for line in _TENSOR.format(a=name).splitlines()]
        elif kind == "L":
            body.append(f"h{name}, dev = host_list(name, {name}, dev)")
    for name in extra:
        body += [f"if kw.get({name!r}) is not None:",
                 f"    kw[{name!r}], dev = host_list(name, kw[{name!r}], dev)"]
    if limit:
        body = ["bad = None", *body, "if bad is not None: limited(bad)"]
    source = _FACTORY.format(
        defaults="\n".join(f"    D{n} = DEFAULTS[{n}]" for n, (_, d) in enumerate(kinds) if d) or "    pass",
        signature=", ".join([*signature, "*rest", "**kw"]),
        body="\n".join("        " + line for line in body) or "        pass",
        call=", ".join([*call, "*rest", "**kw"]),
        work=work,
        result="\n".join("        " + line for line in result.splitlines()),
    )
    space: dict[str, Any] = {}
    exec(compile(source, f"<npu kernel {shape}>", "exec"), space)
    made: Callable[..., Any] = space["make"]
    return made


def _split(shape: str) -> Iterable[tuple[str, bool]]:
    for position, letter in enumerate(shape):
        if letter != "=":
            yield letter, shape[position + 1 : position + 2] == "="


def refusing(name: str) -> Callable[..., Any]:
    """A kernel for what the simulated device does not hold: sparse tensors."""

    def kernel(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name}: the simulated NPU holds no sparse tensors")

    return kernel


def view(overload: Any) -> Callable[..., Any]:
    """A view: PyTorch's CPU kernel works on any device's tensor, the result shares its storage."""
    run = overload._handle.redispatch_boxed

    def kernel(*args: Any, **kw: Any) -> Any:
        return run(CPU_KEYS, *args, **kw)

    return kernel


def resizing(overload: Any) -> Callable[..., Any]:
    """An `out=` variant: compute into fresh host tensors, then fill or replace the given ones."""
    schema = overload._schema
    kinds = {a.name: k for k, a in kinds_of(schema)}
    order = [a.name for a in schema.arguments]
    outs = [a.name for a in schema.arguments if a.is_out]
    name = schema.name.replace("aten::", "")
    run = _taking_numbers(overload)

    def kernel(*args: Any, **kw: Any) -> Any:
        given = {**dict(zip(order, args)), **kw}
        dev, host = 0, {}
        for key, value in given.items():
            host[key] = value
            if kinds[key] != "S":
                host[key], dev = host_list(name, value, dev)
        fresh = {key: _empty_like_list(host[key]) for key in outs}
        positional = [host[a] for a in order[: len(args)]]
        run(CPU_KEYS, *positional, **{k: fresh.get(k, host[k]) for k in kw})
        where = live.launch(name)
        for key in outs:
            _deliver(given[key], host[key], fresh[key], dev, where)
        results = tuple(given[key] for key in outs)
        return results[0] if len(results) == 1 else results if schema.returns else None

    return kernel


def _empty_like_list(host: Any) -> Any:
    """Host tensors to compute into: copies when shapes may stay, so that partial writes are kept."""
    if isinstance(host, (list, tuple)):
        return [_empty_like_list(item) for item in host]
    if host.numel() == 0:
        return torch.empty(0, dtype=host.dtype)
    return host.clone(memory_format=torch.preserve_format)


def _deliver(target: Any, host: Any, fresh: Any, dev: int, where: Any) -> None:
    if isinstance(target, (list, tuple)):
        for one in zip(target, host, fresh):
            _deliver(*one, dev, where)
    elif host.shape == fresh.shape:
        host.copy_(fresh)
    else:
        live.allocated(fresh, dev, where)
        target.data = to_device(fresh, dev)


def factory(overload: Any, current: Callable[[Any], int]) -> Callable[..., Any]:
    """An operator that makes a tensor from numbers: `current` names the device for `device=`."""
    run = overload._handle.redispatch_boxed
    name = overload._schema.name.replace("aten::", "")
    silent = name.startswith("empty")

    def kernel(*args: Any, **kw: Any) -> Any:
        code = device_code(current(kw.get("device")))
        if "device" in kw:
            kw["device"] = CPU
        kw.pop("pin_memory", None)
        result = run(CPU_KEYS, *args, **kw)
        where = live.launch(name) if not silent else _where()
        live.allocated(result, code, where)
        return to_device(result, code)

    return kernel


def like(overload: Any) -> Callable[..., Any]:
    """`zeros_like`, `new_empty` and their kin: a device may be named, else it is the tensor's own."""
    inner = compiled(overload)

    def kernel(*args: Any, **kw: Any) -> Any:
        device = kw.pop("device", None)
        kw.pop("pin_memory", None)
        own = next((a.device for a in args if isinstance(a, Tensor)), None)
        if device is not None and device != own:
            result = inner(*args, **kw)
            return result.to(device)
        return inner(*args, **kw)

    return kernel


def _where() -> Any:
    recorder = live.recorder
    return None if recorder is None else recorder.position(3)
