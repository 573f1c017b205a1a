"""Notebooks: all code cells as one module, shell lines as shell; the rest of the file stays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from npudoctor.core.finding import Evidence, Place
from npudoctor.migrate import engine, filetypes, source
from npudoctor.migrate.engine import FileResult, Outcome
from npudoctor.migrate.idioms import scan
from npudoctor.migrate.lang import Language, python, wanted_words
from npudoctor.migrate.lang.cells import Cell, NotebookError, code_cells, replace_code
from npudoctor.migrate.lang.magics import MARK, Masked, mask, unmask
from npudoctor.migrate.lang.shellwords import read_commands
from npudoctor.migrate.problems import problem
from npudoctor.migrate.project import ProjectIndex, collect_facts
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.view import LineStarts, View

_CELL_LINE = re.compile(r"^# <npudoctor cell (\d+)>$", re.MULTILINE)


@dataclass
class _Part:
    """A cell, how it was masked, and its first line in the joined module (0: not in it)."""

    cell: Cell
    masked: Masked
    first_line: int = 0


def migrate(text: str, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
    """Rewrite the code of a notebook."""
    try:
        parts = [_Part(cell, mask(cell.text, cell.number)) for cell in code_cells(text)]
        result = engine.migrate_source(_join(parts), path, settings, project)
        new = _split(result.text, parts) if result.changed else {}
        lines = LineStarts(text)
        outcomes = [_placed(o, path, parts, lines) for o in result.outcomes]
        counts = Counter(result.edits)
        for part in parts:
            shell = _shell(part, new.get(part.cell.number, part.cell.text), path, settings)
            if shell.changed:
                new[part.cell.number] = shell.text
            outcomes += [_in_cell(o, path, part.cell, o.line, lines) for o in shell.outcomes]
            counts.update(shell.edits)
            if part.masked.problem and wants(part.cell.text.encode("utf-8", "replace")):
                place = f"cell {part.cell.number}: {part.masked.problem}"
                outcomes.append(Outcome(problem("NPU198", path, place), False))
        if not new:
            return FileResult(path, text, outcomes=tuple(outcomes), failed=result.failed)
        changed = replace_code(text, new)
    except NotebookError as error:
        left = (Outcome(problem("NPU198", path, str(error)), False),)
        return FileResult(path, text, outcomes=left, failed=True)
    return FileResult(path, changed, changed != text, tuple(outcomes), dict(sorted(counts.items())))


def facts(text: str, path: str) -> Mapping[str, Any]:
    """Facts of the joined code."""
    try:
        parts = [_Part(cell, mask(cell.text, cell.number)) for cell in code_cells(text)]
    except NotebookError:
        return {}
    return collect_facts(_join(parts), path)


def _join(parts: list[_Part]) -> str:
    """One module; each cell comes after a comment line with its number."""
    lines: list[str] = []
    for part in parts:
        if part.masked.code is not None:
            lines.append(f"# <npudoctor cell {part.cell.number}>")
            part.first_line = len(lines) + 1
            lines += part.masked.code.split("\n")
    return "\n".join(lines) + "\n" if lines else ""


def _split(text: str, parts: list[_Part]) -> dict[int, str]:
    """Number -> new code of the cells that changed.

    Raises:
        NotebookError: a comment line went missing.
    """
    pieces = _CELL_LINE.split(text)
    found = {int(number): code for number, code in zip(pieces[1::2], pieces[2::2])}
    new = {}
    for part in parts:
        if part.masked.code is None:
            continue
        code = found.get(part.cell.number)
        if code is None or not code.startswith("\n") or not code.endswith("\n") or pieces[0].strip():
            raise NotebookError("a cell was lost")
        code = code[1:-1]
        if len(MARK.findall(code)) != len(part.masked.originals):
            raise NotebookError("a magic was lost")
        if code != part.masked.code:
            new[part.cell.number] = unmask(code, part.masked)
    return new


def _shell(part: _Part, code: str, path: str, settings: Settings) -> FileResult:
    """The shell lines of a cell, or a shell cell."""
    view = View(code, path, filetypes.NOTEBOOK)
    if part.masked.shell_cell:
        read_commands(view, code.find("\n") + 1 if "\n" in code else len(code), len(code))
        return scan(view, settings)
    if not part.masked.shell:
        return FileResult(path, code)
    wanted = {part.masked.originals.get(number): column for number, column in part.masked.shell}
    start = 0
    for line in code.split("\n"):
        if line in wanted:
            read_commands(view, start + wanted[line], start + len(line))
        start += len(line) + 1
    return scan(view, settings)


def _placed(outcome: Outcome, path: str, parts: list[_Part], lines: LineStarts) -> Outcome:
    """An outcome of the joined module, placed in the notebook."""
    line = outcome.finding.place.line if outcome.finding.place else None
    inside = [p for p in parts if p.first_line and line is not None and p.first_line <= line]
    if not inside or line is None:
        return replace(outcome, edits=(), finding=replace(outcome.finding, place=Place(path)))
    part = inside[-1]
    return _in_cell(outcome, path, part.cell, line - part.first_line + 1, lines)


def _in_cell(outcome: Outcome, path: str, cell: Cell, line: int, lines: LineStarts) -> Outcome:
    """Place an outcome at a line of a cell: the line of the file, and the cell as evidence."""
    number = min(max(line, 1), len(cell.tokens)) - 1 if cell.inner else 0
    file_line = lines.line(cell.tokens[number][0])
    where = Evidence(f"cell {cell.number}, line {line}", str(outcome.finding.params.get("code", "")))
    finding = replace(outcome.finding, place=Place(path, file_line), evidence=(where,))
    return replace(outcome, finding=finding, edits=(), line=file_line)


def wants(data: bytes) -> bool:
    """Whether the notebook may hold an idiom, in Python or in shell."""
    return python.wants(data) or wanted_words(data)


LANGUAGE = Language(filetypes.NOTEBOOK, source.decode_text, wants, migrate, facts, indexed=True)
