"""What may be evaluated earlier or later than it stands, because nobody else can see it happen."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.sync.ops import function_op, ops

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext
    from npudoctor.migrate.sync.values import Values

_PARTS = (
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
)
_BUILTINS = frozenset(f"builtins.{n}" for n in ("len", "int", "float", "bool", "isinstance", "type"))
_COMPUTED = frozenset({"property", "cached_property", "lazy_property", "lazyproperty"})
# Arguments by position before `inplace`.
_IN_PLACE_FROM = {"relu": 1, "silu": 1, "elu": 2, "leaky_relu": 2}
_NUMPY_WRITES = frozenset(
    "copyto fill_diagonal place put put_along_axis putmask save savetxt savez savez_compressed seterr"
    " seterrcall setbufsize set_printoptions".split()
)
# Buffers, loggers and samplers have methods of these names as well.
_SHARED = frozenset({"add", "log", "gather", "repeat", "to", "requires_grad_"})


class Quiet:
    """Quiet expressions of one module."""

    def __init__(self, ctx: ModuleContext, values: Values) -> None:
        self._ctx = ctx
        self._values = values
        #: What classes of this module define: of these names it is not known what they do.
        self.methods, self._properties = _defined(ctx)

    def expression(self, node: ast.AST) -> bool:
        """Whether evaluating `node` writes to nothing, draws no random number and calls no unknown code."""
        if isinstance(node, ast.Call):
            return self.call(node) and all(self.expression(n) for n in ast.iter_child_nodes(node))
        if isinstance(node, ast.Attribute) and node.attr in self._properties:
            return False
        return isinstance(node, _PARTS) and all(self.expression(n) for n in ast.iter_child_nodes(node))

    def call(self, node: ast.Call) -> bool:
        """Whether the call itself, its arguments aside, is to a function that only computes."""
        if any(k.arg in (None, "out", "inplace") for k in node.keywords):
            return False
        path = self._ctx.qualified_name(node.func)
        if path is None:
            return isinstance(node.func, ast.Attribute) and self._method(node.func)
        head, _, name = path.rpartition(".")
        if head == "numpy":
            return name[:1].islower() and name not in _NUMPY_WRITES
        op = function_op(path)
        random = name.startswith("rand")
        if head == "torch.nn.functional" and len(node.args) > _IN_PLACE_FROM.get(name, len(node.args)):
            return False
        return path in _BUILTINS or (op is not None and op.storage != "factory" and not random)

    def _method(self, func: ast.Attribute) -> bool:
        if func.attr in ("append", "extend"):
            return self._is_container(func.value)
        op = ops("method").get(func.attr)
        if op is None or func.attr == "requires_grad_":
            return False
        known = self._values.of(func.value).tensor
        if not known and func.attr in self.methods:
            return False
        known = known or op.torch_only
        return known or self._ctx.kind(func.value) in (Kind.TENSOR, Kind.NDARRAY)

    def _is_container(self, node: ast.expr) -> bool:
        """Whether `node` is a list or a deque, which only keeps what it is given."""
        if self._ctx.kind(node) is Kind.LIST:
            return True
        made = self._values.assigned(node)
        names = [self._ctx.called_name(m) if m is not None else None for m in made]
        return bool(names) and all(name == "collections.deque" for name in names)

    def tensor(self, node: ast.expr) -> bool:
        """As `expression`, for what is known to be a tensor because `.cpu().numpy()` is asked of it.

        The receiver of a tensor's method then is one too, unless the name of the method is a common one.
        """
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            func = node.func
            plain = func.attr in ops("method") and func.attr not in _SHARED | self.methods
            if plain and self._ctx.qualified_name(func) is None:
                extra = [*node.args, *(k.value for k in node.keywords if k.arg not in (None, "out"))]
                whole = len(extra) == len(node.args) + len(node.keywords)
                return whole and all(self.expression(e) for e in extra) and self.tensor(func.value)
        return self.expression(node)

    def loud(self, statement: ast.stmt, besides: Collection[ast.AST]) -> Iterator[ast.Call]:
        """Calls of `statement` to code that may do anything, those in `besides` aside."""
        for call in self._ctx.within(statement, ast.Call):
            if call not in besides and not self.call(call):
                yield call

    def writes_elsewhere(self, statement: ast.stmt) -> bool:
        """Whether `statement` writes to anything but plain variables and elements of NumPy arrays."""
        if isinstance(statement, ast.AugAssign):
            return True  # in place, if the variable holds a tensor or an array
        if any(not isinstance(a.ctx, ast.Load) for a in self._ctx.within(statement, ast.Attribute)):
            return True
        elements = self._ctx.within(statement, ast.Subscript)
        written = (e for e in elements if not isinstance(e.ctx, ast.Load))
        return not all(isinstance(e.ctx, ast.Store) and self._is_array(e.value) for e in written)

    def _is_array(self, node: ast.expr) -> bool:
        """An array of its own; one from `.numpy()` may share the memory of a tensor of the host."""
        if self._ctx.kind(node) is not Kind.NDARRAY or not self.expression(node):
            return False
        bound = self._ctx.bindings(node) if isinstance(node, ast.Name) else []
        return not any("numpy(" in ast.unparse(b.value) for b in bound if b.value is not None)


def _defined(ctx: ModuleContext) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the methods and of the properties that classes of the module define."""
    methods: set[str] = set()
    properties: set[str] = set()
    for function in (s for owner in ctx.nodes(ast.ClassDef) for s in owner.body):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = {ast.unparse(d).rpartition(".")[2] for d in function.decorator_list}
            (properties if names & _COMPUTED else methods).add(function.name)
    return frozenset(methods), frozenset(properties)
