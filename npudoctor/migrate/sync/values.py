"""What an expression provably is, as far as a sync rewrite needs it: tensor, dtype class, size, storage.

All answers hold for every run in which the original program does not raise. A variable has
a property when every binding of it in its scope has it; Python numbers among the bindings
do not count, because `.item()` on them would raise.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.names import Binding, Scope
from npudoctor.migrate.sync.algebra import (
    BOTTOM,
    UNKNOWN,
    Value,
    arithmetic,
    constant,
    factory_dtype,
    join,
    joint_dims,
    loss,
    operation,
    promote,
    unary,
)
from npudoctor.migrate.sync.lookalikes import lookalikes
from npudoctor.migrate.sync.ops import function_op, ops
from npudoctor.migrate.sync.reaching import reaching

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# Libraries whose objects share method names with tensors; where one is imported, names prove less.
_RIVAL_WORDS = (
    "pandas polars xarray tensorflow jax mxnet paddle cupy tinygrad mindspore sympy scipy dask "
    "tensorflow_probability micrograd autograd"
)
_RIVALS = frozenset(_RIVAL_WORDS.split())
# Types that `float` or `int` would also cover, but that change the numbers of their neighbours when stacked.
_ODD_TYPES = re.compile(r"\d[jJ]\b|complex|fft|polar|cfloat|cdouble|uint(?:16|32|64)|float8")
_ARITHMETIC = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.MatMult,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
)
_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_MAX_DEPTH = 40
_FUEL = 800  # steps for one question; variables that feed each other would take exponentially many
_MAX_BINDINGS = 8


class Values:
    """Inference over one module."""

    def __init__(self, ctx: ModuleContext) -> None:
        self._ctx = ctx
        self._cache: dict[ast.AST, Value] = {}
        self._open: set[int] = set()
        self._cycle = False
        self._fuel = _FUEL
        self.rivals = _imported(ctx) & _RIVALS
        self._unsure = lookalikes(ctx)

    def of(self, node: ast.expr, depth: int = 0) -> Value:
        """The provable properties of `node`."""
        known = self._cache.get(node)
        if known is not None:
            return known
        if depth == 0:
            self._cycle, self._fuel = False, _FUEL
        self._fuel -= 1
        if depth > _MAX_DEPTH or self._fuel < 0:
            self._cycle = True  # an unfinished answer is safe, but not worth keeping
            return UNKNOWN
        value = self._infer(node, depth + 1)
        if not self._cycle or depth == 0:  # inside a cycle the answer rests on an assumption
            self._cache[node] = replace(value, bottom=False) if value.bottom else value
        return value

    def _infer(self, node: ast.expr, depth: int) -> Value:
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self._variable(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            return arithmetic(node.op, self.of(node.left, depth), self.of(node.right, depth))
        if isinstance(node, ast.UnaryOp):
            return unary(node.op, self.of(node.operand, depth))
        if isinstance(node, ast.Compare):
            return self._compare(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.IfExp):
            return join([self.of(node.body, depth), self.of(node.orelse, depth)])
        if isinstance(node, ast.NamedExpr):
            return replace(self.of(node.value, depth), new=False)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.Subscript):
            base = self.of(node.value, depth)
            return Value(tensor=True, dtype=base.dtype) if base.tensor else UNKNOWN
        return UNKNOWN

    def _compare(self, node: ast.Compare, depth: int) -> Value:
        if len(node.ops) != 1 or not isinstance(node.ops[0], _COMPARISONS):
            return UNKNOWN
        sides = (self.of(node.left, depth), self.of(node.comparators[0], depth))
        if not any(s.tensor for s in sides):
            return UNKNOWN
        return Value(tensor=True, dtype="bool", dims=joint_dims(*sides), new=True)

    def _attribute(self, node: ast.Attribute, depth: int) -> Value:
        if node.attr not in ("data", "grad", "T", "mT"):
            return UNKNOWN
        base = self.of(node.value, depth)
        if not base.tensor:
            return UNKNOWN
        return Value(tensor=True, dtype=base.dtype, dims=base.dims if node.attr == "data" else "")

    # -- variables ---------------------------------------------------------------------

    def _variable(self, node: ast.Name, depth: int) -> Value:
        bindings = reaching(self._ctx, node)
        if len(bindings) > _MAX_BINDINGS:
            return UNKNOWN
        joined = join([self._followed(b, depth) for b in bindings])
        if self._differentiated(node, bindings):
            joined = replace(joined, tensor=True, dtype="float", dims=joined.dims or "1", pair=False)
        return replace(joined, new=False)

    def _followed(self, binding: Binding, depth: int) -> Value:
        if id(binding) in self._open:
            self._cycle = True
            return BOTTOM
        self._open.add(id(binding))
        try:
            return self._bound(binding, depth)
        finally:
            self._open.discard(id(binding))

    def _bound(self, binding: Binding, depth: int) -> Value:
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            return self.of(binding.value, depth)
        if binding.kind == "augmented" and isinstance(binding.node, ast.AugAssign):
            added = self.of(binding.node.value, depth)
            # In place on a tensor: shape and dtype stay. On a number it makes a new value.
            return replace(arithmetic(binding.node.op, BOTTOM, added), new=False)
        if binding.kind in ("annotation", "delete"):
            return BOTTOM
        return UNKNOWN

    def _differentiated(self, node: ast.Name, bindings: list[Binding]) -> bool:
        """Whether `x.backward()` (or `scaler.scale(x).backward()`) is called on this variable.

        Only a tensor has it, and without an argument torch demands exactly one floating element.
        """
        if "backward" in self._unsure or self.rivals & {"micrograd", "tinygrad"}:
            return False
        values = [b for b in bindings if b.kind not in ("augmented", "annotation", "delete")]
        real = [b for b in values if not (isinstance(b.value, ast.Constant) and b.kind == "assign")]
        if len(real) != 1 or real[0].kind != "assign":
            return False
        scope = self._ctx.scope(node).find(node.id)
        if scope is None:
            return False
        known: dict[tuple[Scope, str], bool] = self._ctx.memo.setdefault("differentiated", {})
        if (scope, node.id) not in known:
            known[scope, node.id] = any(self._is_backward_of(use) for use in scope.uses.get(node.id, []))
        return known[scope, node.id]

    def _is_backward_of(self, use: ast.Name) -> bool:
        above = self._ctx.parent(use)
        if isinstance(above, ast.Call) and above.args == [use] and isinstance(above.func, ast.Attribute):
            if above.func.attr != "scale":
                return False
            above = self._ctx.parent(above)
        if not (isinstance(above, ast.Attribute) and above.attr == "backward"):
            return False
        call = self._ctx.parent(above)
        if not (isinstance(call, ast.Call) and call.func is above and not call.args):
            return False
        return not any(k.arg in (None, "gradient") for k in call.keywords)

    # -- calls -------------------------------------------------------------------------

    def _call(self, node: ast.Call, depth: int) -> Value:
        if any(k.arg in (None, "out") for k in node.keywords):
            return UNKNOWN
        path = self._ctx.qualified_name(node.func)
        if path is not None:
            return self._function(node, path, depth)
        made = self.loss_module(node.func)
        if made is not None:
            return loss(node, made)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, depth)
        return UNKNOWN

    def _function(self, node: ast.Call, path: str, depth: int) -> Value:
        head, _, name = path.rpartition(".")
        if path == "builtins.sum" and len(node.args) == 1 and isinstance(node.args[0], _COMPREHENSIONS):
            return self._summed(self.of(node.args[0].elt, depth))
        if name == "kl_divergence" and head in ("torch.distributions", "torch.distributions.kl"):
            return Value(tensor=True, dtype="float")
        op = function_op(path)
        if op is None or (name == "where" and len(node.args) != 3):
            return UNKNOWN
        if op.dims == "loss":
            return loss(node, None)
        if op.storage == "factory" or not node.args:
            return Value(tensor=True, dtype=factory_dtype(node, op), new=True)
        operands = [self.of(a, depth) for a in node.args if not isinstance(a, ast.Starred)]
        if op.dims == "full-or-pair" and len(operands) == 2 and operands[1].tensor:
            return Value(tensor=True, dtype=promote(*operands), dims=joint_dims(*operands), new=True)
        first = operands[0] if operands else UNKNOWN
        if name in ("where", "maximum", "minimum", "mul", "add", "sub", "div", "pow", "matmul"):
            dtype = "float" if name == "div" else promote(*(operands[1:] if name == "where" else operands))
            return Value(tensor=True, dtype=dtype, new=True)
        return operation(op, first, node, receiver=False)

    @staticmethod
    def _summed(each: Value) -> Value:
        """`sum(f(x) for x in xs)` adds to 0, so it makes a new tensor (or stays 0, which nobody reads)."""
        dtype = each.dtype if each.dtype == "float" else ""
        return Value(tensor=True, dtype=dtype, dims=each.dims, new=True) if each.tensor else UNKNOWN

    def _method(self, node: ast.Call, func: ast.Attribute, depth: int) -> Value:
        base = self.of(func.value, depth)
        op = ops("method").get(func.attr)
        if base.tensor or base.pair:
            if op is None:
                return UNKNOWN
            value = operation(op, base, node, receiver=True)
            return replace(value, tensor=False, pair=True) if op.module_too and not base.tensor else value
        if self._is_distribution(func.value):
            drawn = ops("distribution").get(func.attr)
            return (
                Value(tensor=True, dtype=drawn.result if drawn.result == "float" else "")
                if drawn
                else UNKNOWN
            )
        if func.attr in self._unsure:
            return UNKNOWN
        if func.attr == "log_prob" and not self.rivals:
            return Value(tensor=True, dtype="float")
        if op is None or self.rivals or base.number or self._ctx.kind(func.value) is Kind.MODULE:
            return UNKNOWN
        if op.torch_only:
            return operation(op, Value(tensor=True), node, receiver=True)
        if op.module_too:
            return replace(operation(op, UNKNOWN, node, receiver=True), tensor=False, pair=True)
        if op.dims == "full" and self._becomes_loss(node):
            return operation(op, Value(tensor=True, dtype="float"), node, receiver=True)
        return UNKNOWN

    def _becomes_loss(self, node: ast.Call) -> bool:
        """Whether `node` is the whole value of a variable that is differentiated."""
        assign = self._ctx.parent(node)
        if not isinstance(assign, ast.Assign) or assign.value is not node or len(assign.targets) != 1:
            return False
        target = assign.targets[0]
        return isinstance(target, ast.Name) and self._differentiated(target, self._ctx.bindings(target))

    def _is_distribution(self, node: ast.expr) -> bool:
        """Whether `node` is `torch.distributions.X(...)` or a variable bound only to such calls."""
        if isinstance(node, ast.Call):
            path = self._ctx.qualified_name(node.func) or ""
            return path.startswith("torch.distributions.") and path.rsplit(".", 1)[-1][:1].isupper()
        if isinstance(node, ast.Name):
            bound = self._ctx.bindings(node)
            if not (self.rivals or "log_prob" in self._unsure) and bound and self._has_log_prob(node):
                return True
            return bool(bound) and all(
                b.kind == "assign" and isinstance(b.value, ast.Call) and self._is_distribution(b.value)
                for b in bound
            )
        return False

    def _has_log_prob(self, node: ast.Name) -> bool:
        """Whether `log_prob` is called on the same variable: then `entropy()` is torch's too."""
        scope = self._ctx.scope(node).find(node.id)
        if scope is None or len(scope.bindings[node.id]) != 1:
            return False
        above = [self._ctx.parent(use) for use in scope.uses.get(node.id, [])]
        return any(isinstance(a, ast.Attribute) and a.attr == "log_prob" for a in above)

    def loss_module(self, func: ast.expr) -> ast.Call | None:
        """The `nn.XLoss(...)` call that made the module called as `func`, if there is just one."""
        made = [func] if isinstance(func, ast.Call) else self.assigned(func)
        if len(made) != 1 or not isinstance(made[0], ast.Call):
            return None
        head, _, name = (self._ctx.qualified_name(made[0].func) or "").rpartition(".")
        known = head in ("torch.nn", "torch.nn.modules.loss") and name in ops("module")
        return made[0] if known else None

    def assigned(self, node: ast.expr) -> list[ast.expr | None]:
        """Values of a variable or of `self.<name>`, None for one that is not plain; of other forms none."""
        if isinstance(node, ast.Name):
            return [b.value if b.kind == "assign" else None for b in self._ctx.bindings(node)]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._members(node)
        return []

    def _members(self, attribute: ast.Attribute) -> list[ast.expr | None]:
        """Values that the class assigns to `self.<name>`; None for one that is not plain."""
        owner = self._ctx.enclosing_class(attribute)
        found: list[ast.expr | None] = []
        for node in self.stores.get(attribute.attr, ()) if owner is not None else ():
            if self._ctx.enclosing_class(node) is owner:
                above = self._ctx.parent(node)
                found.append(above.value if isinstance(above, ast.Assign) else None)
        return found

    @functools.cached_property
    def odd_types(self) -> bool:
        """Whether the module uses types that change the numbers of their neighbours when stacked."""
        return _ODD_TYPES.search(self._ctx.source) is not None and _odd_in_code(self._ctx)

    @functools.cached_property
    def stores(self) -> dict[str, list[ast.Attribute]]:
        """Name of an attribute -> every place that assigns an attribute of that name."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self._ctx.nodes(ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                found.setdefault(node.attr, []).append(node)
        return found


def _odd_in_code(ctx: ModuleContext) -> bool:
    """Whether the code itself, not only prose in it, knows one of the odd types."""
    words = [n.id for n in ctx.nodes(ast.Name)] + [n.attr for n in ctx.nodes(ast.Attribute)]
    words += [n.arg or "" for n in ctx.nodes(ast.keyword)] + [n.name for n in ctx.nodes(ast.alias)]
    for node in ctx.nodes(ast.Constant):
        if isinstance(node.value, complex):
            return True
        if isinstance(node.value, str) and not isinstance(ctx.parent(node), ast.Expr):
            words.append(node.value)
    return any(_ODD_TYPES.search(word) for word in words)


def _imported(ctx: ModuleContext) -> set[str]:
    found = set()
    for node in ctx.nodes(ast.Import):
        found |= {alias.name.split(".")[0] for alias in node.names}
    for source in ctx.nodes(ast.ImportFrom):
        found.add((source.module or "").split(".")[0])
    return found
