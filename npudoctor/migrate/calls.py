"""Small questions about calls and constants."""

from __future__ import annotations

import ast


def string_of(node: ast.AST | None) -> str | None:
    """The text of a string constant, else None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def keyword_of(call: ast.Call, name: str) -> ast.keyword | None:
    """The keyword argument `name=`, if it is written."""
    return next((k for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    """The value of a parameter, given by position or by keyword."""
    keyword = keyword_of(call, name)
    if keyword is not None:
        return keyword.value
    plain = not any(isinstance(a, ast.Starred) for a in call.args[: index + 1])
    return call.args[index] if plain and index < len(call.args) else None


def is_true(node: ast.AST | None) -> bool:
    """Whether a node is the constant True."""
    return isinstance(node, ast.Constant) and node.value is True


def has_spread(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` hide some arguments."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
