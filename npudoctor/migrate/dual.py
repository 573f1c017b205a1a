"""Modules that choose between CUDA and NPU themselves, so that nothing in them may be touched.

What counts is a choice between the two, both sides of it written by the author: an NPU that
only stands beside CUDA proves nothing, since that is how a migrated module looks that still
has something left over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Union

from npudoctor.migrate import style
from npudoctor.migrate.compare import lists_both, other_side_of
from npudoctor.migrate.positions import Role, role_of
from npudoctor.migrate.torchnames import literals

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

_NPU_PROBES = frozenset({"is_torch_npu_available", "is_npu_available", "is_ascend_available"})
_NPU_NAME = re.compile(r"npu|ascend", re.I)
_DEFINITE = (Role.PRODUCER, Role.COMPARISON, Role.CHOICES)
_Choice = Union[ast.If, ast.IfExp]


def is_dual(ctx: ModuleContext) -> bool:
    """Whether the module chooses between CUDA and NPU itself."""
    if "npu" not in ctx.source:
        return False
    names = {n.id for n in ctx.nodes(ast.Name)} | {n.attr for n in ctx.nodes(ast.Attribute)}
    if names & _NPU_PROBES:  # the project's own question: whoever asks it knows about NPUs
        return True
    evidence = _Evidence(ctx)
    return bool(evidence.npu) and evidence.shows_a_choice()


class _Evidence:
    """What in a module speaks of either device.

    Attributes:
        npu: questions whether there is one, every string "npu", and variables with NPU in their name.
        cuda: questions whether there is one, and strings that a device is made of, compared with or
            chosen from.
    """

    def __init__(self, ctx: ModuleContext) -> None:
        self._ctx = ctx
        self._npu_questions = [n for n in _questions(ctx, "npu") if not style.picks_type(ctx, n)]
        self._cuda_questions = list(_questions(ctx, "cuda"))
        self._probes = list(_probes(ctx))
        self._npu_words = [c for c in ctx.nodes(ast.Constant) if c.value == "npu"]
        self._npu_compared = [c for c in self._npu_words if role_of(ctx, c) is Role.COMPARISON]
        self._npu_asked: list[ast.AST] = [*self._npu_questions, *self._probes, *self._npu_compared]
        flags: list[ast.AST] = [n for n in ctx.nodes(ast.Name) if _NPU_NAME.search(n.id)]
        self.npu: list[ast.AST] = [*self._npu_questions, *self._probes, *self._npu_words, *flags]
        found = [lit.node for lit in literals(ctx) if lit.word == "cuda"]
        self._cuda_words = [node for node in found if role_of(ctx, node) in _DEFINITE]
        self.cuda: list[ast.AST] = [*self._cuda_questions, *self._cuda_words]

    def shows_a_choice(self) -> bool:
        """Whether one choice is between the two."""
        ctx = self._ctx
        choices: list[_Choice] = [*ctx.nodes(ast.If), *ctx.nodes(ast.IfExp)]
        if any(self._divides(choice) for choice in choices):
            return True
        if any(self._both(operation.values) for operation in ctx.nodes(ast.BoolOp)):
            return True
        units = {_unit(ctx, node) for node in self.cuda}
        if any(_unit(ctx, probe) in units for probe in self._probes):
            return True
        if self._cuda_questions and any(_is_named(ctx, question) for question in self._npu_questions):
            return True
        if self._return_in_turn() or self._same_subject():
            return True
        return not ctx.settings.portable and self._listed()  # which portable style itself writes

    def _divides(self, choice: _Choice) -> bool:
        """Whether one device is in the test, or the value it chooses, and the other in the `else`."""
        ctx = self._ctx
        if isinstance(choice, ast.IfExp):
            first: list[ast.AST] = [choice.test, choice.body]
            other: list[ast.AST] = [choice.orelse]
            other_npu = self.npu
        else:
            first, other, other_npu = [choice.test], [*choice.orelse], self._npu_asked
        if _has(ctx, self.npu, first) and _has(ctx, self.cuda, other):
            return True
        return _has(ctx, self.cuda, first) and _has(ctx, other_npu, other)

    def _both(self, values: Sequence[ast.AST]) -> bool:
        """`a or b`, where one asks for an NPU and another for CUDA."""
        ctx = self._ctx
        of_npu = [value for value in values if _has(ctx, self._npu_asked, [value])]
        return bool(of_npu) and any(_has(ctx, self.cuda, [v]) for v in values if v not in of_npu)

    def _return_in_turn(self) -> bool:
        """`if <NPU>: return ...` and `if <CUDA>: return ...` in one block."""
        ctx = self._ctx
        leaving = [n for n in ctx.nodes(ast.If) if isinstance(n.body[-1], ast.Return)]
        npu = {ctx.parent(n) for n in leaving if _has(ctx, self.npu, [n.test])}
        return any(ctx.parent(n) in npu and _has(ctx, self.cuda, [n.test]) for n in leaving)

    def _same_subject(self) -> bool:
        """Whether one and the same thing is compared with both names in one function."""
        compared = [n for n in self._cuda_words if role_of(self._ctx, n) is Role.COMPARISON]
        return bool(self._subjects(self._npu_compared) & self._subjects(compared))

    def _subjects(self, words: Iterable[ast.expr]) -> set[tuple[ast.AST, str]]:
        ctx = self._ctx
        if ctx.settings.portable:  # `in ("cuda", "npu")` is what portable style itself writes
            words = [w for w in words if not lists_both(ctx, w)]
        sides = ((word, other_side_of(ctx, word)) for word in words)
        return {(_unit(ctx, word), ctx.text(side)) for word, side in sides if side is not None}

    def _listed(self) -> bool:
        return any(lists_both(self._ctx, word) for word in self._npu_words)


def _questions(ctx: ModuleContext, device: str) -> Iterator[ast.Attribute]:
    for node in ctx.nodes(ast.Attribute):
        if node.attr == "is_available" and ctx.qualified_name(node) == f"torch.{device}.is_available":
            yield node


def _probes(ctx: ModuleContext) -> Iterator[ast.Constant]:
    """`hasattr(torch, "npu")` and `find_spec("torch_npu")`."""
    for word in ctx.nodes(ast.Constant):
        if word.value in ("npu", "torch_npu"):
            above = ctx.parent(word)
            name = ctx.called_name(above) if above is not None else None
            if name in ("builtins.hasattr", "importlib.util.find_spec"):
                yield word


def _has(ctx: ModuleContext, evidence: Iterable[ast.AST], places: Sequence[ast.AST]) -> bool:
    return any(ctx.inside(node, place) for node in evidence for place in places)


def _is_named(ctx: ModuleContext, question: ast.AST) -> bool:
    """Whether the answer has a name, or is given by a function, that says NPU: names are never rewritten."""
    statement = ctx.statement(question)
    function = ctx.enclosing_function(question)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [getattr(function, "name", ""), *(ctx.text(target) for target in targets)]
    return any(_NPU_NAME.search(name) for name in names)


def _unit(ctx: ModuleContext, node: ast.AST) -> ast.AST:
    """The enclosing function, else the module's top level as one."""
    return ctx.enclosing_function(node) or ctx.tree
