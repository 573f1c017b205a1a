"""The table `data/tensor_ops.tsv`: what torch operations return, as far as the proofs need it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from npudoctor import tables


@dataclass(frozen=True)
class Op:
    """One operation.

    Attributes:
        result: dtype class of the result: `float`, `int`, `bool`, `same` as the operand,
            or `sum` (floating stays, integers and bool become integer).
        dims: `full` (0-dim when called without a dimension), `full-or-pair` (as `full`, but a
            dimension makes it return a pair), `loss` (0-dim unless `reduction` says otherwise),
            `same` as the operand, or `other`.
        storage: `new` memory for every call, `shared` when it may be the operand's or hidden
            memory, `factory` for memory made from host values.
        torch_only: no other array library in use has a method of this name.
        module_too: `torch.nn.Module` has a method of this name as well (`.float()`, `.to()`).
    """

    result: str
    dims: str
    storage: str
    torch_only: bool
    module_too: bool


_MODULES = {"torch": "torch", "torch.nn.functional": "functional"}


@functools.cache
def ops(where: str) -> dict[str, Op]:
    """Operations of one place: `method`, `torch`, `functional`, `module` or `distribution`."""
    return {
        row["name"]: Op(
            row["result"],
            row["dims"],
            row["storage"],
            row["torch_only"] == "yes",
            row["torch_only"] == "module",
        )
        for row in tables.load("tensor_ops").rows
        if row["where"] == where
    }


def function_op(path: str) -> Op | None:
    """The operation with this dotted path (`torch.mean`, `torch.nn.functional.relu`), if the table has it."""
    head, _, name = path.rpartition(".")
    return ops(_MODULES[head]).get(name) if head in _MODULES else None
