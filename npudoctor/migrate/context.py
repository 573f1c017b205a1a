"""What a rule may ask about the module it looks at."""

from __future__ import annotations

import ast
import bisect
import functools
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from npudoctor.migrate import fstrings
from npudoctor.migrate.kinds import Kind, Kinds
from npudoctor.migrate.names import FUNCTIONS, Binding, FunctionNode, Scope
from npudoctor.migrate.parsed import take
from npudoctor.migrate.project import ProjectIndex
from npudoctor.migrate.settings import Settings

LOOPS = (ast.For, ast.AsyncFor, ast.While)
N = TypeVar("N", bound=ast.AST)


class ModuleContext:
    """One parsed module.

    Attributes:
        path: path relative to the project, with `/`.
        source: the text.
        tree: its syntax tree; node positions are only reliable through `span`.
        settings: what the run was asked to do; `settings.torch_npu` is the target.
        project: facts about the other modules.
        syntax: tree, scopes and line starts.

    Raises:
        SyntaxError, ValueError, RecursionError: not Python that this interpreter can parse.
    """

    def __init__(
        self,
        source: str,
        path: str = "<string>",
        settings: Settings | None = None,
        project: ProjectIndex | None = None,
        original: ModuleContext | None = None,
    ) -> None:
        self.path = path
        self.source = source
        self.settings = settings or Settings()
        self.project = project or ProjectIndex()
        self._original = original  # not `self`: a cycle would keep every tree until it is collected
        self.syntax = take(source)
        self.tree, self.names, self._lines = self.syntax.tree, self.syntax.names, self.syntax.lines
        self._spans: dict[ast.AST, tuple[int, int]] = {}  # of what stands inside f-strings
        self.kinds = Kinds(self.names, self.project, path)
        #: Results that several rules share, by name; lives as long as the round.
        self.memo: dict[str, Any] = {}

    @property
    def original(self) -> ModuleContext:
        """The context of the text before the first round; the same in the first round."""
        return self._original or self

    # -- text --------------------------------------------------------------------

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Half-open character span of `node` in `source`."""
        known = self._spans.get(node)
        if known is None and ast.JoinedStr in self.names.by_type:
            holder = fstrings.outermost(self, node)
            if holder is not None and holder not in self._spans:
                self._spans.update(fstrings.spans(self, holder))
                known = self._spans.get(node)
        if known is not None:
            return known
        if isinstance(node, ast.alias) and not hasattr(node, "lineno"):
            return self._alias_span(node)  # Python 3.9
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def _alias_span(self, alias: ast.alias) -> tuple[int, int]:
        statement = self.names.parents[alias]
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        at, end = self.span(statement)
        at = re.compile(r"(?:from\s[^#]*?\s)?import\b").match(self.source, at, end).end()  # type: ignore[union-attr]
        for other in statement.names:
            name = r"\s*\.\s*".join(re.escape(part) for part in other.name.split("."))
            tail = rf"\s+as\s+{other.asname}" if other.asname else ""
            match = re.compile(rf"(?<![\w.]){name}{tail}(?!\w)").search(self.source, at, end)
            if match is None:
                raise ValueError("import statement of an unknown form")
            if other is alias:
                return match.span()
            at = match.end()
        raise ValueError("import statement of an unknown form")

    def text(self, node: ast.AST) -> str:
        """The source of `node`."""
        start, end = self.span(node)
        return self.source[start:end]

    def offset(self, line: int, column_bytes: int) -> int:
        """Character offset of an `ast` position (line from 1, column in UTF-8 bytes)."""
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.source)
        text = self.source[start:end]
        if text.isascii():
            return start + column_bytes
        return start + len(text.encode("utf-8")[:column_bytes].decode("utf-8", "ignore"))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both from 1, the column in characters."""
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line_span(self, line: int) -> tuple[int, int]:
        """Span of one physical line, its line end included."""
        end = self._lines[line] if line < len(self._lines) else len(self.source)
        return self._lines[line - 1], end

    @functools.cached_property
    def newline(self) -> str:
        """The line end of the first line that has one."""
        for line in self.source.splitlines(keepends=True)[:1]:
            if line.endswith("\r\n"):
                return "\r\n"
            if line.endswith("\r"):
                return "\r"
        return "\n"

    # -- tree --------------------------------------------------------------------

    def nodes(self, *types: type[N]) -> list[N]:
        """Every node of these exact types, in source order within each type."""
        if len(types) == 1:
            return cast("list[N]", [*self.names.by_type.get(types[0], ())])
        return [cast("N", n) for t in types for n in self.names.by_type.get(t, ())]

    def within(self, owner: ast.AST, *types: type[N]) -> list[N]:
        """Every node of these exact types that is `owner` or a part of it, in source order per type."""
        order = self.names.order
        if len(types) == 1:
            return order.within(owner, types[0])
        return [n for t in types for n in order.within(owner, t)]

    def inside(self, node: ast.AST, owner: ast.AST) -> bool:
        """Whether `node` is `owner` or a part of it."""
        return self.names.order.inside(node, owner)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds `node`, None for the module."""
        return self.names.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """From the parent of `node` up to the module."""
        current = self.names.parents.get(node)
        while current is not None:
            yield current
            current = self.names.parents.get(current)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The smallest statement that holds `node` (or is it)."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.names.parents.get(current)
        if current is None:
            raise ValueError("node is not part of a statement")
        return current

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which `statement` stands, itself included."""
        parent = self.names.parents.get(statement)
        for field in ("body", "orelse", "finalbody"):
            found = getattr(parent, field, None)
            if isinstance(found, list) and statement in found:
                return found
        raise ValueError("statement stands in no block")

    def enclosing_function(self, node: ast.AST) -> FunctionNode | None:
        """The function or lambda whose body holds `node`."""
        scope: Scope | None = self.names.scope_of(node)
        while scope is not None:
            if isinstance(scope.node, FUNCTIONS):
                return scope.node
            scope = scope.parent
        return None

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose body, or whose method, holds `node`."""
        return next((a for a in self.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def enclosing_loop(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop of the same function whose body runs `node` each time.

        The iterable of a `for` and an `else:` branch run once and are not inside.
        """
        child: ast.AST = node
        for above in self.ancestors(node):
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                return None
            if isinstance(above, LOOPS):
                once = (above.iter,) if isinstance(above, (ast.For, ast.AsyncFor)) else ()
                if child not in above.orelse and child not in once:
                    return above
            child = above
        return None

    # -- meaning -----------------------------------------------------------------

    def qualified_name(self, node: ast.AST) -> str | None:
        """Dotted path of what `node` names (`torch.cuda.is_available`, `builtins.float`), or None."""
        return self.names.qualified(node)

    def called_name(self, node: ast.AST) -> str | None:
        """Dotted path of the function that `node` calls, or None if it is no call or unknown."""
        return self.names.qualified(node.func) if isinstance(node, ast.Call) else None

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which `node` is evaluated."""
        return self.names.scope_of(node)

    def bindings(self, name: ast.Name) -> list[Binding]:
        """Every binding of the variable that `name` refers to."""
        return self.names.bindings_of(name)

    def uses(self, name: str, scope: Scope) -> list[ast.Name]:
        """Every read of the variable `name` of `scope`, nested functions included."""
        return self.names.uses_of(name, scope)

    def kind(self, node: ast.expr) -> Kind:
        """What kind of value `node` provably is; `Kind.UNKNOWN` when nothing proves it."""
        return self.kinds.of(node)

    def is_tensor_like(self, node: ast.expr) -> bool:
        """Whether `node` provably is a torch tensor."""
        return self.kinds.of(node) is Kind.TENSOR

    @functools.cached_property
    def imported_roots(self) -> frozenset[str]:
        """First components of everything the module imports absolutely (`torch`, `ray`)."""
        plain = [alias.name for statement in self.nodes(ast.Import) for alias in statement.names]
        sources = [s.module or "" for s in self.nodes(ast.ImportFrom) if s.level == 0]
        return frozenset(name.split(".")[0] for name in plain + sources)

    @property
    def imports_torch(self) -> bool:
        """Whether any import of the module names torch or something inside it."""
        return "torch" in self.imported_roots
