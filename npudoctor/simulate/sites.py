"""Which code is the user's, and what a position in it says."""

from __future__ import annotations

import dis
import functools
import itertools
import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from types import CodeType

_SELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Frames that carry no line of anyone's program.
_SYNTHETIC = ("<frozen", "<string>", "<__array_function__", "<eval_with_key>", "<attrs", "<npu kernel")
_BRANCH = ("POP_JUMP", "JUMP_IF", "UNARY_NOT", "TO_BOOL", "CONTAINS_OP", "COMPARE_OP")
_SUBSCRIPT = ("BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "BINARY_OP")


@dataclass(frozen=True)
class Site:
    """One position in source code: file, line (from 1), function, the line's text, the expression's text."""

    path: str
    line: int
    function: str
    text: str
    expression: str
    operation: str
    after: str


@functools.cache
def library_roots() -> tuple[str, ...]:
    """Folders of installed packages and of the standard library."""
    paths = sysconfig.get_paths()
    roots = {paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths}
    packages = ("site-packages", "dist-packages")
    roots.update(p for p in sys.path if os.path.basename(p.rstrip(os.sep)) in packages)
    roots.update((os.path.join(_SELF, "simulate"), os.path.dirname(os.path.abspath(os.__file__))))
    return tuple(sorted(os.path.join(os.path.abspath(r), "") for r in roots))


@functools.cache
def is_library(filename: str) -> bool:
    """Whether a file belongs to an installed package, the standard library or the simulator."""
    if filename.startswith(_SYNTHETIC):
        return True
    return os.path.abspath(filename).startswith(library_roots())


@functools.lru_cache(maxsize=65536)
def describe(code: CodeType, offset: int) -> Site:
    """The source position of byte `offset` in `code`."""
    line, column, end = _span(code, offset)
    text = linecache.getline(code.co_filename, line)
    data = text.encode("utf-8")
    known = column is not None and end is not None
    expression = data[column:end].decode("utf-8", "replace") if known else ""
    after = data[end:].decode("utf-8", "replace").strip() if known else ""
    return Site(code.co_filename, line, code.co_name, text.strip(), expression.strip(),
                _operation(code, offset), after)


def _span(code: CodeType, offset: int) -> tuple[int, int | None, int | None]:
    """Line and byte columns; columns only where Python records them (3.11) and on one line."""
    if hasattr(code, "co_positions"):
        found = next(itertools.islice(code.co_positions(), offset // 2, None), None)
        if found is not None and found[0] is not None:
            line, end_line, column, end = found
            return (line, column, end) if line == end_line else (line, None, None)
    line = code.co_firstlineno
    for start, number in dis.findlinestarts(code):
        if start > offset:
            break
        line = number or line
    return line, None, None


def _operation(code: CodeType, offset: int) -> str:
    for instruction in dis.get_instructions(code):
        if instruction.offset == offset:
            return instruction.opname
    return ""


def kind_of(cause: str, inner: Site, path: tuple[Site, ...]) -> str:
    """The kind of a sync in the words of the report.

    Args:
        cause: what the device saw: item, d2h, h2d, mask, nonzero, synchronize, empty_cache.
        inner: the innermost position outside the simulator.
        path: every position from there outwards.
    """
    if any(site.path.endswith("_tensor_str.py") for site in path[:12]):
        return "print"
    if cause == "item":
        if inner.function == "__format__":
            return "print"
        branch = inner.operation.startswith(_BRANCH) or inner.expression.startswith("bool(")
        return "bool" if branch else "item"
    if cause == "d2h":
        if ".tolist(" in inner.expression:
            return "tolist"
        return "numpy" if inner.after.startswith(".numpy(") or "numpy" in inner.expression else "cpu"
    if cause == "h2d":
        return "host index" if inner.operation.startswith(_SUBSCRIPT) else "upload"
    return cause
