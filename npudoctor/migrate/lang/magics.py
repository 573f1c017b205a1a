"""IPython's additions to Python, masked so that a cell parses, and unmasked afterwards.

A masked line keeps its indentation and stays one line; its comment says which line it was.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

_LINE = re.compile(r"([ \t]*)(%{1,2}|!{1,2}|\?{1,2}|,|;|/)(?=\S)")
_HELP = re.compile(r"[ \t]*[\w.\[\]]+\?{1,2}[ \t]*$")
_ASSIGNED = re.compile(r"([ \t]*[\w.,\[\]'\" ]+=[ \t]*)([!%]\S.*)$")
_CELL = re.compile(r"%%(\w+)")
_SHELL_CELLS = frozenset({"bash", "sh", "script", "system", "sx", "zsh"})
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "snakeviz", "memit"})
_SHELL_LINES = re.compile(r"[ \t]*(?:!{1,2}|%(?:sx|system|pip|conda|mamba|env|set_env|bash)\b[ \t]*)")
MARK = re.compile(r"# <npudoctor line (\d+) (\d+)>")


@dataclass
class Masked:
    """A cell as Python.

    Attributes:
        code: the masked code, same number of lines; None for a cell that is not Python.
        originals: line number (from 1) -> the line as written.
        shell: line number, and where in the line shell text begins, of each shell line.
        shell_cell: the whole cell after its first line is a shell script.
        problem: why the masked code does not parse, empty when it does.
    """

    code: str | None
    originals: dict[int, str] = field(default_factory=dict)
    shell: list[tuple[int, int]] = field(default_factory=list)
    shell_cell: bool = False
    problem: str = ""


def mask(code: str, cell: int) -> Masked:
    """Mask the magics of one cell; `cell` is its number, written into the masks."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    magic = _CELL.match(first)
    if magic and magic.group(1) in _SHELL_CELLS:
        return Masked(None, shell_cell=True)
    if magic and magic.group(1) not in _PYTHON_CELLS:
        return Masked(None)
    plain = _parses(code)
    if plain == "":
        return Masked(code)
    masked = Masked(None)
    lines = code.split("\n")
    for number, line in enumerate(lines, start=1):
        lines[number - 1] = _mask_line(masked, line, number, cell)
    result = "\n".join(lines)
    masked.problem = _parses(result)
    masked.code = result if not masked.problem else None
    return masked


def unmask(code: str, masked: Masked) -> str:
    """`code` (masked, possibly rewritten) with the lines as they were written."""
    if not masked.originals:
        return code
    lines = code.split("\n")
    for i, line in enumerate(lines):
        match = MARK.search(line)
        if match and int(match.group(2)) in masked.originals:
            lines[i] = masked.originals[int(match.group(2))]
    return "\n".join(lines)


def _mask_line(masked: Masked, line: str, number: int, cell: int) -> str:
    mark = f"# <npudoctor line {cell} {number}>"
    shell = _SHELL_LINES.match(line)
    if shell:
        masked.shell.append((number, shell.end()))
    if _LINE.match(line) or _HELP.match(line):
        masked.originals[number] = line
        indent = line[: len(line) - len(line.lstrip())]
        return f"{indent}pass  {mark}"
    assigned = _ASSIGNED.match(line)
    if assigned and _parses(line.strip()) != "":
        masked.originals[number] = line
        if assigned.group(2).startswith("!"):
            masked.shell.append((number, assigned.start(2) + 1))
        return f"{assigned.group(1)}get_ipython()  {mark}"
    return line


def _parses(code: str) -> str:
    """Why `code` is not Python, empty when it is."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        return error.msg or "syntax error"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""
