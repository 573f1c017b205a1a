"""Who stands inside whom in a syntax tree: answered by numbers, without walking."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

N = TypeVar("N", bound=ast.AST)


class Order:
    """Preorder numbers: what stands inside a node has the numbers that follow its own.

    Args:
        nodes: every node of the tree, each before its children, in source order.
        parents: node -> the node that holds it.
        by_type: node type -> its nodes, in the order of `nodes`.
    """

    def __init__(
        self,
        nodes: Sequence[ast.AST],
        parents: Mapping[ast.AST, ast.AST],
        by_type: Mapping[type[ast.AST], Sequence[ast.AST]],
    ) -> None:
        self._by_type = by_type
        self._number = {node: number for number, node in enumerate(nodes)}
        self._numbers: dict[type[ast.AST], list[int]] = {}
        self._last = list(range(len(nodes)))
        for number in range(len(nodes) - 1, 0, -1):
            above = self._number[parents[nodes[number]]]
            if self._last[above] < self._last[number]:
                self._last[above] = self._last[number]

    def inside(self, node: ast.AST, owner: ast.AST) -> bool:
        """Whether `node` is `owner` or a part of it."""
        first = self._number[owner]
        return first <= self._number[node] <= self._last[first]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The numbers, in source order, of `node` and of the last of its parts."""
        first = self._number[node]
        return first, self._last[first]

    def within(self, owner: ast.AST, kind: type[N]) -> list[N]:
        """The nodes of this exact type that are `owner` or a part of it, in source order."""
        every = self._by_type.get(kind)
        if every is None:
            return []
        numbers = self._numbers.get(kind)
        if numbers is None:
            numbers = self._numbers[kind] = [self._number[node] for node in every]
        first = self._number[owner]
        start = bisect.bisect_left(numbers, first)
        return cast("list[N]", [*every[start : bisect.bisect_right(numbers, self._last[first], start)]])
