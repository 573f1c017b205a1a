"""Scopes and name resolution on `ast`, without running or importing anything.

A name resolves to the dotted path of an import when *every* binding of it in its scope
is an import of that path (`None` fallbacks of `except ImportError` aside), or a single
assignment from such a path. Anything less certain resolves to nothing.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from npudoctor.migrate.order import Order

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BUILTINS = frozenset(dir(builtins))
_MAX_DEPTH = 12


class Binding(NamedTuple):
    """One place that gives a name a value.

    Attributes:
        kind: import | assign | annotation | augmented | param | def | class | loop | with |
            except | walrus | delete | other.
        node: the statement or expression that binds.
        value: the expression assigned, when there is exactly one and it is bound whole.
        target: dotted path, for imports.
    """

    name: str
    kind: str
    node: ast.AST
    value: ast.expr | None = None
    target: str = ""


@dataclass(eq=False)
class Scope:
    """One scope: module, class, function, lambda or comprehension.

    `bindings` and `uses` hold the names bound and read *here*; a `global` or `nonlocal`
    name is filed under the scope it means.
    """

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    uses: dict[str, list[ast.Name]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether names bound here are invisible to the functions inside."""
        return isinstance(self.node, ast.ClassDef)

    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def find(self, name: str) -> Scope | None:
        """The scope a read of `name` from here means, or None (builtin, star import, unbound)."""
        declared = self.outer.get(name)
        if declared == "global":
            module = self.module()
            return module if name in module.bindings else None
        scope: Scope | None = self if declared is None else self.parent
        first = declared is None
        while scope is not None:
            if name in scope.bindings and name not in scope.outer and (first or not scope.is_class):
                return scope
            scope, first = scope.parent, False
        return None


class Names:
    """All scopes of a module, and who is whose parent."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.root = Scope(tree, None)
        self.scopes: dict[ast.AST, Scope] = {tree: self.root}
        self.by_type: dict[type[ast.AST], list[ast.AST]] = {}
        self.star_imports: list[str] = []
        self._dotted: dict[ast.AST, str | None] = {}
        self._scope_of: dict[ast.AST, Scope] = {}
        self._preorder: list[ast.AST] = []
        self._build(tree)

    # -- reading -----------------------------------------------------------------

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which `node` is evaluated."""
        known = self._scope_of.get(node)
        if known is None:
            known = self._scope_of[node] = self._find_scope(node)
        return known

    def _find_scope(self, node: ast.AST) -> Scope:
        parents, scopes, current = self.parents, self.scopes, node
        while True:
            parent = parents.get(current)
            if parent is None:
                return self.root
            if parent in scopes and _evaluated_inside(parent, current):
                return scopes[parent]
            current = parent

    @functools.cached_property
    def order(self) -> Order:
        """Who stands inside whom."""
        return Order(self._preorder, self.parents, self.by_type)

    def bindings_of(self, name: ast.Name) -> list[Binding]:
        """Every binding of the variable that `name` refers to; empty if it is not bound here."""
        scope = self.scope_of(name).find(name.id)
        return list(scope.bindings[name.id]) if scope is not None else []

    def uses_of(self, name: str, scope: Scope) -> list[ast.Name]:
        """Every read of the variable `name` that lives in `scope`, nested functions included."""
        found = []
        for other in self.scopes.values():
            if name in other.uses and other.find(name) is scope:
                found.extend(other.uses[name])
        return found

    def qualified(self, node: ast.AST, depth: int = 0) -> str | None:
        """Dotted path of what `node` names, such as `torch.cuda.is_available`, or None."""
        if node in self._dotted:
            return self._dotted[node]
        result = self._qualified(node, depth)
        if depth == 0:
            self._dotted[node] = result
        return result

    def _qualified(self, node: ast.AST, depth: int) -> str | None:
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Attribute):
            base = self.qualified(node.value, depth + 1)
            return None if base is None else f"{base}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        scope = self.scope_of(node).find(node.id)
        if scope is None:
            known = node.id in _BUILTINS and not self.star_imports
            return f"builtins.{node.id}" if known else None
        return self._target(scope.bindings[node.id], depth)

    def _target(self, bindings: list[Binding], depth: int) -> str | None:
        targets: set[str | None] = set()
        for binding in bindings:
            if binding.kind == "import":
                targets.add(binding.target)
            elif _is_none(binding.value):
                continue
            elif binding.kind == "assign" and isinstance(binding.value, (ast.Name, ast.Attribute)):
                targets.add(self.qualified(binding.value, depth + 1))
            else:
                return None
        return targets.pop() if len(targets) == 1 else None

    # -- building ----------------------------------------------------------------

    def _build(self, tree: ast.Module) -> None:
        """One pass over the tree; the hottest loop of the codemod, hence the local names."""
        parents, by_type, scopes, handlers = self.parents, self.by_type, self.scopes, _HANDLERS
        stack: list[tuple[ast.AST, Scope]] = [(tree, self.root)]
        pop, push, seen = stack.pop, stack.append, self._preorder.append
        while stack:
            node, scope = pop()
            kind = node.__class__
            seen(node)
            if kind in by_type:
                by_type[kind].append(node)
            else:
                by_type[kind] = [node]
            if kind is ast.Name and node.ctx.__class__ is ast.Load:  # type: ignore[attr-defined]
                scope.uses.setdefault(node.id, []).append(node)  # type: ignore[attr-defined, arg-type]
                continue
            if kind in _SCOPE_TYPES:
                inner = scopes[node] = Scope(node, scope)
                self._enter(node, scope, inner)
                for child in reversed(list(ast.iter_child_nodes(node))):
                    parents[child] = node
                    push((child, inner if _evaluated_inside(node, child) else scope))
                continue
            if kind in handlers:
                handlers[kind](self, node, scope)
            for name in _FIELDS[kind]:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    for item in reversed(value):
                        if isinstance(item, ast.AST):
                            parents[item] = node
                            push((item, scope))
                elif isinstance(value, ast.AST):
                    parents[value] = node
                    push((value, scope))
        self._settle()

    def _enter(self, node: ast.AST, scope: Scope, inner: Scope) -> None:
        """A node that opens a scope: its own name outside, its parameters inside."""
        if isinstance(node, ast.ClassDef):
            _bind(scope, Binding(node.name, "class", node))
        elif isinstance(node, FUNCTIONS):
            if not isinstance(node, ast.Lambda):
                _bind(scope, Binding(node.name, "def", node))
            for arg in _arguments(node.args):
                _bind(inner, Binding(arg.arg, "param", arg))

    def _on_name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Del):  # reads are filed by the pass itself
            _bind(scope, Binding(node.id, "delete", node))

    def _on_declaration(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        how = "global" if isinstance(node, ast.Global) else "nonlocal"
        scope.outer.update(dict.fromkeys(node.names, how))

    def _on_binding(self, node: ast.AST, scope: Scope) -> None:
        for binding in _bindings(node, self.star_imports):
            _bind(scope, binding)

    def _settle(self) -> None:
        """File the bindings of `global`/`nonlocal` names, and walrus targets, where they belong."""
        for scope in list(self.scopes.values()):
            for name, how in scope.outer.items():
                bound = scope.bindings.get(name)
                home = self.root if how == "global" else _function_home(scope.parent, name)
                if bound and home is not None and home is not scope:
                    home.bindings.setdefault(name, []).extend(bound)
            if isinstance(scope.node, COMPREHENSIONS):
                self._lift_walrus(scope)

    def _lift_walrus(self, scope: Scope) -> None:
        home = scope.parent
        while home is not None and isinstance(home.node, COMPREHENSIONS):
            home = home.parent
        for name, bound in list(scope.bindings.items()):
            lifted = [b for b in bound if b.kind == "walrus"]
            if lifted and home is not None:
                home.bindings.setdefault(name, []).extend(lifted)
                rest = [b for b in bound if b.kind != "walrus"]
                if rest:
                    scope.bindings[name] = rest
                else:
                    del scope.bindings[name]


def _function_home(scope: Scope | None, name: str) -> Scope | None:
    while scope is not None:
        if isinstance(scope.node, FUNCTIONS) and name in scope.bindings:
            return scope
        scope = scope.parent
    return None


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _evaluated_inside(owner: ast.AST, child: ast.AST) -> bool:
    """Whether `child` of the scope node `owner` runs inside the scope (defaults and decorators do not)."""
    if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return child not in owner.decorator_list and child is not owner.returns and child is not owner.args
    if isinstance(owner, ast.Lambda):
        return child is owner.body
    if isinstance(owner, ast.ClassDef):
        return child not in owner.decorator_list and child not in owner.bases and child not in owner.keywords
    return True  # the first iterable of a comprehension is looked up outside; names there rarely differ


def _bind(scope: Scope, binding: Binding) -> None:
    scope.bindings.setdefault(binding.name, []).append(binding)


def _bindings(node: ast.AST, stars: list[str]) -> Iterator[Binding]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _imported(node, stars)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, "assign", node, node.value)
    elif isinstance(node, ast.AnnAssign):
        yield from _targets(node.target, "assign" if node.value else "annotation", node, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _targets(node.target, "augmented", node, None)
    elif isinstance(node, ast.NamedExpr):
        yield from _targets(node.target, "walrus", node, node.value)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _targets(node.target, "loop", node, None)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars, "with", node, None)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield Binding(node.name, "except", node)
    else:
        yield from _pattern_names(node)


def _pattern_names(node: ast.AST) -> Iterator[Binding]:
    """Captures of `match` (Python 3.10+), recognised by name so that 3.9 can import this."""
    kind = type(node).__name__
    name = getattr(node, "rest" if kind == "MatchMapping" else "name", None)
    if kind in ("MatchAs", "MatchStar", "MatchMapping") and isinstance(name, str):
        yield Binding(name, "other", node)


def _imported(node: ast.Import | ast.ImportFrom, stars: list[str]) -> Iterator[Binding]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield Binding(alias.asname, "import", node, None, alias.name)
            else:
                top = alias.name.split(".")[0]
                yield Binding(top, "import", node, None, top)
        return
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            stars.append(base)
            continue
        joint = "" if base.endswith(".") or not base else "."
        yield Binding(alias.asname or alias.name, "import", node, None, f"{base}{joint}{alias.name}")


def _targets(target: ast.AST, kind: str, node: ast.AST, value: ast.expr | None) -> Iterator[Binding]:
    if isinstance(target, ast.Name):
        yield Binding(target.id, kind, node, value)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, kind, node, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        pairs = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        for index, element in enumerate(target.elts):
            each = value.elts[index] if pairs and not starred else None  # type: ignore[union-attr]
            yield from _targets(element, kind, node, each)


def _arguments(args: ast.arguments) -> list[ast.arg]:
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return found + [a for a in (args.vararg, args.kwarg) if a is not None]


_SCOPE_TYPES = frozenset((*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS))
# Fields that never hold nodes of interest: contexts and operators are shared singletons.
_PLAIN_FIELDS = frozenset(
    {"ctx", "op", "ops", "id", "attr", "level", "module", "kind", "type_comment", "conversion", "simple"}
)
_HANDLERS: dict[type[ast.AST], Callable[[Names, Any, Scope], None]] = {
    ast.Name: Names._on_name,
    ast.Global: Names._on_declaration,
    ast.Nonlocal: Names._on_declaration,
}
_BINDING_TYPES: tuple[type[ast.AST], ...] = (
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.NamedExpr,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.withitem,
    ast.ExceptHandler,
)
_PATTERN_TYPES = tuple(
    getattr(ast, name) for name in ("MatchAs", "MatchStar", "MatchMapping") if hasattr(ast, name)
)
_HANDLERS.update(dict.fromkeys((*_BINDING_TYPES, *_PATTERN_TYPES), Names._on_binding))


class _Fields(dict[type, tuple[str, ...]]):
    """Node type -> names of its fields that may hold nodes, last first."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names = () if kind is ast.Constant else tuple(reversed(kind._fields))  # type: ignore[attr-defined]
        self[kind] = tuple(name for name in names if name not in _PLAIN_FIELDS)
        return self[kind]


_FIELDS = _Fields()
