"""What kind of value an expression provably has: a small, flow-insensitive inference.

A variable has a kind when every binding of it has that kind. Only facts of the language,
of torch's and NumPy's public interfaces and of annotations are used; a guess is UNKNOWN.
"""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from npudoctor.migrate.names import Binding, Names

if TYPE_CHECKING:
    from npudoctor.migrate.project import ProjectIndex

_MAX_DEPTH = 20


@enum.unique
class Kind(enum.Enum):
    """Kinds of values that the rules tell apart."""

    TENSOR = "tensor"
    MODULE = "module"  # torch.nn.Module
    DEVICE = "device"  # torch.device
    NDARRAY = "ndarray"
    NUMBER = "number"  # int, float or bool of Python
    STRING = "string"
    LIST = "list"
    OTHER = "other"  # provably none of the above
    UNKNOWN = "unknown"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TORCH_TENSOR = _words(
    """
    tensor as_tensor asarray from_numpy frombuffer zeros ones empty full rand randn randint randperm
    arange linspace logspace eye zeros_like ones_like empty_like full_like rand_like randn_like
    randint_like cat concat stack hstack vstack where clamp clip exp log log2 log10 sqrt rsqrt abs sign
    sin cos tan tanh sigmoid softmax log_softmax relu mean sum prod std var norm max min minimum maximum
    argmax argmin matmul mm bmm mul add sub div pow square multinomial normal bernoulli gather squeeze
    unsqueeze reshape flatten transpose permute flip roll cumsum cumprod einsum outer dot isnan isinf
    isfinite logical_and logical_or logical_not logical_xor any all nan_to_num diag triu tril ger addmm
    baddbmm lerp floor ceil round trunc remainder fmod one_hot mse_loss cross_entropy
    """
)
_FUNCTIONAL = ("torch.nn.functional.", "torch.special.", "torch.linalg.", "torch.fft.")
# torch.max(x, dim) and friends return a pair; with one argument they return a tensor.
_MAYBE_PAIR = frozenset(("max", "min", "std", "var", "norm"))
_TENSOR_METHODS = _words(
    """
    detach clone cpu cuda npu to float double half bfloat16 int long short byte bool type contiguous
    view reshape view_as reshape_as expand expand_as repeat permute transpose t squeeze unsqueeze
    flatten unflatten mean sum prod std var norm exp log log2 log10 sqrt rsqrt abs neg sign sin cos tan
    tanh sigmoid softmax log_softmax relu clamp clip pow square mul add sub div true_divide floor_divide
    mm bmm matmul dot argmax argmin cumsum cumprod gather scatter index_select masked_select masked_fill
    where flip roll eq ne lt le gt ge logical_and logical_or logical_not isnan isinf isfinite any all
    round floor ceil fill_ zero_ copy_ add_ sub_ mul_ div_ clamp_ requires_grad_ detach_ pin_memory
    share_memory_ new_zeros new_ones new_empty new_full new_tensor diag
    """
)
_KEEP_MODULE = _words(
    """
    to cuda npu cpu train eval float double half bfloat16 apply requires_grad_ share_memory
    """
)
_NUMPY_ARRAY = _words("array asarray zeros ones empty full arange linspace stack concatenate vstack hstack")
_ANNOTATIONS = {
    "torch.Tensor": Kind.TENSOR,
    "torch.FloatTensor": Kind.TENSOR,
    "torch.LongTensor": Kind.TENSOR,
    "torch.nn.Module": Kind.MODULE,
    "torch.device": Kind.DEVICE,
    "numpy.ndarray": Kind.NDARRAY,
    "builtins.int": Kind.NUMBER,
    "builtins.float": Kind.NUMBER,
    "builtins.bool": Kind.NUMBER,
    "builtins.str": Kind.STRING,
    "builtins.list": Kind.LIST,
}
_BUILTIN_CALLS = {
    "builtins.float": Kind.NUMBER,
    "builtins.int": Kind.NUMBER,
    "builtins.len": Kind.NUMBER,
    "builtins.bool": Kind.NUMBER,
    "builtins.str": Kind.STRING,
    "builtins.list": Kind.LIST,
    "builtins.sorted": Kind.LIST,
    "builtins.dict": Kind.OTHER,
    "builtins.range": Kind.OTHER,
    "torch.device": Kind.DEVICE,
}


class Kinds:
    """Kind inference over one module."""

    def __init__(self, names: Names, project: ProjectIndex, path: str) -> None:
        self._names = names
        self._project = project
        self._path = path
        self._cache: dict[ast.AST, Kind] = {}
        self._member_values: dict[ast.ClassDef, dict[str, list[ast.expr | None]]] = {}

    def of(self, node: ast.expr, depth: int = 0) -> Kind:
        """The kind of `node`."""
        known = self._cache.get(node)
        if known is not None:
            return known
        if depth > _MAX_DEPTH:
            return Kind.UNKNOWN
        self._cache[node] = Kind.UNKNOWN  # a cycle proves nothing
        kind = self._infer(node, depth + 1)
        self._cache[node] = kind
        return kind

    def _infer(self, node: ast.expr, depth: int) -> Kind:
        if isinstance(node, ast.Constant):
            return _constant(node.value)
        if isinstance(node, ast.JoinedStr):
            return Kind.STRING
        if isinstance(node, (ast.List, ast.ListComp)):
            return Kind.LIST
        if isinstance(node, (ast.Dict, ast.Set, ast.Tuple, ast.Lambda, ast.DictComp, ast.SetComp)):
            return Kind.OTHER
        if isinstance(node, ast.Name):
            return self._variable(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.IfExp):
            return self._agree([self.of(node.body, depth), self.of(node.orelse, depth)])
        return self._operator(node, depth)

    def _operator(self, node: ast.expr, depth: int) -> Kind:
        if isinstance(node, ast.BinOp):
            sides = (self.of(node.left, depth), self.of(node.right, depth))
            if Kind.TENSOR in sides and Kind.LIST not in sides:
                return Kind.TENSOR
            same = sides[0] is sides[1] and sides[0] in (Kind.NUMBER, Kind.NDARRAY)
            return sides[0] if same else Kind.UNKNOWN
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.of(node.operand, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                return Kind.UNKNOWN
            sides = (self.of(node.left, depth), self.of(node.comparators[0], depth))
            return Kind.TENSOR if Kind.TENSOR in sides else Kind.UNKNOWN
        if isinstance(node, ast.Subscript):
            base = self.of(node.value, depth)
            return base if base is Kind.TENSOR else Kind.UNKNOWN
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value, depth)
        return Kind.UNKNOWN

    # -- variables -----------------------------------------------------------------

    def _variable(self, node: ast.Name, depth: int) -> Kind:
        return self._agree([self._bound(b, depth) for b in self._names.bindings_of(node) if not _nothing(b)])

    def _bound(self, binding: Binding, depth: int) -> Kind:
        if binding.kind == "param" and isinstance(binding.node, ast.arg) and binding.node.annotation:
            return self._annotated(binding.node.annotation)
        if binding.kind == "assign" and isinstance(binding.node, ast.AnnAssign):
            return self._annotated(binding.node.annotation)
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            return self.of(binding.value, depth)
        if binding.kind == "augmented" and isinstance(binding.node, ast.AugAssign):
            # x += y keeps a tensor a tensor; a number may become one.
            return self.of(binding.node.value, depth)
        return Kind.UNKNOWN

    def _annotated(self, annotation: ast.expr) -> Kind:
        if isinstance(annotation, ast.Subscript):
            if self._names.qualified(annotation.value) != "typing.Optional":
                return Kind.UNKNOWN
            annotation = annotation.slice
        return _ANNOTATIONS.get(self._names.qualified(annotation) or "", Kind.UNKNOWN)

    def _attribute(self, node: ast.Attribute, depth: int) -> Kind:
        base = self.of(node.value, depth)
        if base is Kind.TENSOR:
            if node.attr in ("data", "grad", "T", "mT", "real"):
                return Kind.TENSOR
            return Kind.DEVICE if node.attr == "device" else Kind.UNKNOWN
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            return self._member(node, depth)
        return Kind.UNKNOWN

    def _member(self, node: ast.Attribute, depth: int) -> Kind:
        """`self.x`: the kind that every assignment to `self.x` in the class gives it."""
        owner = self._class_of(node)
        if owner is None:
            return Kind.UNKNOWN
        values = self._members(owner).get(node.attr, [])
        return self._agree([Kind.UNKNOWN if v is None else self.of(v, depth) for v in values if not _none(v)])

    def _members(self, owner: ast.ClassDef) -> dict[str, list[ast.expr | None]]:
        """Values assigned to each attribute of `self` in a class; None where the value is unclear."""
        cache = self._member_values
        if owner in cache:
            return cache[owner]
        found: dict[str, list[ast.expr | None]] = {}
        for node in self._names.order.within(owner, ast.Attribute):
            if not isinstance(node.ctx, ast.Store):
                continue
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                above = self._names.parents.get(node)
                whole = above.value if isinstance(above, (ast.Assign, ast.AnnAssign)) else None
                found.setdefault(node.attr, []).append(whole)
        cache[owner] = found
        return found

    def _class_of(self, node: ast.AST) -> ast.ClassDef | None:
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.ClassDef):
            current = self._names.parents.get(current)
        return current

    # -- calls -----------------------------------------------------------------------

    def _call(self, node: ast.Call, depth: int) -> Kind:
        path = self._names.qualified(node.func)
        if path is not None:
            return self._known_call(node, path)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, depth)
        if isinstance(node.func, ast.Name):
            classes = [b.node for b in self._names.bindings_of(node.func)]
            if classes and all(isinstance(c, ast.ClassDef) and self.is_module_class(c) for c in classes):
                return Kind.MODULE
        return Kind.UNKNOWN

    def _known_call(self, node: ast.Call, path: str) -> Kind:
        if path in _BUILTIN_CALLS:
            return _BUILTIN_CALLS[path]
        head, _, name = path.rpartition(".")
        if head == "torch" and name in _TORCH_TENSOR:
            single = len(node.args) == 1 and not any(k.arg in ("dim", "axis") for k in node.keywords)
            return Kind.TENSOR if name not in _MAYBE_PAIR or single else Kind.UNKNOWN
        if path.startswith(_FUNCTIONAL):
            return Kind.TENSOR
        if head in ("torch", "torch.cuda", "torch.npu") and name.endswith("Tensor"):
            return Kind.TENSOR
        if head == "torch.nn.parallel" or (head == "torch.nn" and name[:1].isupper() and name != "Parameter"):
            return Kind.MODULE
        if path == "torch.nn.Parameter":
            return Kind.TENSOR
        if head == "numpy" and name in _NUMPY_ARRAY:
            return Kind.NDARRAY
        return Kind.UNKNOWN

    def _method(self, node: ast.Call, func: ast.Attribute, depth: int) -> Kind:
        base = self.of(func.value, depth)
        if base is Kind.MODULE and func.attr in _KEEP_MODULE:
            return Kind.MODULE
        if base is not Kind.TENSOR:
            return Kind.UNKNOWN
        if func.attr == "numpy":
            return Kind.NDARRAY
        if func.attr == "item":
            return Kind.NUMBER
        if func.attr == "tolist":
            return Kind.UNKNOWN  # a list, or a number for a 0-d tensor
        if func.attr in ("max", "min"):
            return Kind.TENSOR if not node.args and not node.keywords else Kind.UNKNOWN
        if func.attr in ("size", "dim", "numel"):
            return Kind.NUMBER if func.attr != "size" or node.args else Kind.OTHER
        return Kind.TENSOR if func.attr in _TENSOR_METHODS else Kind.UNKNOWN

    def is_module_class(self, node: ast.ClassDef, depth: int = 0) -> bool:
        """Whether the class provably derives from torch.nn.Module within this module."""
        if depth > _MAX_DEPTH:
            return False
        for base in node.bases:
            path = self._names.qualified(base) or ""
            if path.startswith("torch.nn.") and path.rsplit(".", 1)[-1][:1].isupper():
                return True
            if isinstance(base, ast.Name):
                for binding in self._names.bindings_of(base):
                    above = binding.node
                    if isinstance(above, ast.ClassDef) and above is not node:  # noqa: SIM102
                        if self.is_module_class(above, depth + 1):
                            return True
        return False

    @staticmethod
    def _agree(kinds: list[Kind]) -> Kind:
        return kinds[0] if kinds and all(k is kinds[0] for k in kinds) else Kind.UNKNOWN


def _constant(value: object) -> Kind:
    if isinstance(value, (bool, int, float)):
        return Kind.NUMBER
    return Kind.STRING if isinstance(value, str) else Kind.OTHER


def _none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _nothing(binding: Binding) -> bool:
    return _none(binding.value) or binding.kind in ("annotation", "delete")
