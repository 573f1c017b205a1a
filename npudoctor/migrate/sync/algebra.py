"""What operations make of what is known of their operands: pure functions over `Value`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from npudoctor.migrate.sync.ops import Op

_REDUCTION_KEYWORDS = frozenset({"dim", "axis", "keepdim", "dims", "ord", "out"})


@dataclass(frozen=True)
class Value:
    """Provable properties of one expression.

    Attributes:
        tensor: it is a torch tensor.
        dtype: `float`, `int`, `bool`, or empty when not proved.
        dims: `0` for a 0-dim tensor (or a number), `1` for one element of any shape, or empty.
        new: its memory belongs to this expression alone.
        number: it is a Python number.
        pair: it is a tensor, or else a (values, indices) pair or an nn.Module: any other
            method called on it proves the tensor.
        bottom: a variable met while it is being inferred; neutral when bindings are joined.
    """

    tensor: bool = False
    dtype: str = ""
    dims: str = ""
    new: bool = False
    number: bool = False
    pair: bool = False
    bottom: bool = False


UNKNOWN = Value()
BOTTOM = Value(bottom=True)


def join(values: list[Value]) -> Value:
    """What holds whichever of `values` a variable has; numbers and neutral values aside."""
    real = [v for v in values if not v.number and not v.bottom]
    if not real:
        numbers = [v for v in values if v.number]
        return numbers[0] if numbers and len(numbers) == len(values) else UNKNOWN
    changed = any(v.bottom and v.dtype != "same" for v in values) or len(real) < len(values)
    dtypes = {v.dtype for v in real}
    dims = {v.dims for v in real}
    dtype = dtypes.pop() if len(dtypes) == 1 else ""
    if changed and dtype != "float":
        dtype = ""
    size = "" if "" in dims or changed else ("0" if dims == {"0"} else "1")
    return Value(
        tensor=all(v.tensor for v in real),
        dtype=dtype,
        dims=size,
        new=all(v.new for v in real) and not changed,
        pair=any(v.pair for v in real),
    )


def constant(value: object) -> Value:
    if isinstance(value, bool):
        return Value(number=True, dtype="bool", dims="0")
    if isinstance(value, (int, float)):
        return Value(number=True, dtype="int" if isinstance(value, int) else "float", dims="0")
    return UNKNOWN


def arithmetic(op: ast.operator, left: Value, right: Value) -> Value:
    if left.number and right.number:
        return Value(number=True, dtype=promote(left, right), dims="0")
    if not (left.tensor or right.tensor):
        return Value(bottom=True) if left.bottom or right.bottom else UNKNOWN
    dtype = "float" if isinstance(op, ast.Div) else promote(left, right)
    return Value(tensor=True, dtype=dtype, dims=joint_dims(left, right), new=True)


def promote(*values: Value) -> str:
    """Dtype class of an operation between `values`: one floating operand makes it floating."""
    classes = {v.dtype for v in values}
    if "float" in {v.dtype for v in values if v.tensor or v.number}:
        return "float"
    if "" in classes:
        return ""
    return "int" if "int" in classes else "bool"


def joint_dims(*values: Value) -> str:
    return "0" if all(v.dims == "0" for v in values) else ""


def unary(op: ast.unaryop, operand: Value) -> Value:
    if operand.number:
        return operand
    if not operand.tensor or isinstance(op, ast.Not):
        return UNKNOWN
    # Unary plus returns the very tensor, minus and ~ a new one.
    return replace(operand, new=not isinstance(op, ast.UAdd), bottom=False)


def loss(node: ast.Call, made: ast.Call | None) -> Value:
    keywords = [*node.keywords, *(made.keywords if made is not None else [])]
    options = {k.arg: k.value for k in keywords}
    if {None, "reduce", "size_average"} & set(options) or (made is not None and made.args):
        return Value(tensor=True, dtype="float")
    reduction = options.get("reduction")
    full = reduction is None or (isinstance(reduction, ast.Constant) and reduction.value in ("mean", "sum"))
    if made is None and len(node.args) > 2:
        full = False  # weights or legacy flags by position
    return Value(tensor=True, dtype="float", dims="0" if full else "", new=full)


def operation(op: Op, base: Value, node: ast.Call, receiver: bool) -> Value:
    extra = node.args if receiver else node.args[1:]
    plain = not extra and not any(k.arg in _REDUCTION_KEYWORDS for k in node.keywords)
    if op.dims == "full-or-pair" and not plain:
        return Value(pair=True, dtype=base.dtype if op.result == "same" else op.result)
    dims = ""
    if op.dims in ("full", "full-or-pair"):
        dims = "0" if plain else ""
    elif op.dims == "same" and (op.module_too or not extra):
        dims = base.dims
    return Value(tensor=True, dtype=_result(op, base, node, bool(extra)), dims=dims, new=op.storage == "new")


def _result(op: Op, base: Value, node: ast.Call, extra: bool) -> str:
    if any(k.arg == "dtype" for k in node.keywords):
        return ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args:
        return base.dtype if _looks_like_device(node.args[0]) else ""
    if op.result == "sum":
        return {"float": "float", "int": "int", "bool": "int"}.get(base.dtype, "")
    if op.result != "same":
        return op.result
    # With further operands an integer may become floating; floating stays floating.
    return base.dtype if base.dtype == "float" or not (extra or node.keywords) else ""


def _looks_like_device(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return "device" in name.lower() or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def factory_dtype(node: ast.Call, op: Op) -> str:
    return "" if any(k.arg == "dtype" for k in node.keywords) or op.result == "same" else op.result
