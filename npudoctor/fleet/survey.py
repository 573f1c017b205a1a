"""Diagnose every bundle of a folder with bounded memory, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from npudoctor.check.engine import diagnose
from npudoctor.check.run import facts_of
from npudoctor.check.summary import facts
from npudoctor.check.unexplained import explained
from npudoctor.core.errors import UserError
from npudoctor.core.finding import Severity
from npudoctor.machine import bundle
from npudoctor.pairing.table import load

PARTS = ("chips", "driver", "firmware", "cann", "python", "torch", "torch_npu")
_CHUNK = 64
_SERIAL_BELOW = 64


@dataclass(frozen=True)
class HostLine:
    """What one bundle says.

    Attributes:
        host: path of the file below the folder, without its ending.
        versions: the parts of the stack, in the order of `PARTS`; empty when the file was unreadable.
        first: code of the first finding, or empty.
        title: its title in English and Chinese.
        errors: number of findings of severity error.
        warnings: number of warnings.
        codes: every code found, causes first.
        problem: why the file could not be read, in English and Chinese, or empty.
    """

    host: str
    versions: tuple[str, ...] = ()
    first: str = ""
    title: tuple[str, str] = ("", "")
    errors: int = 0
    warnings: int = 0
    codes: tuple[str, ...] = field(default=())
    problem: tuple[str, str] = ("", "")


def bundles(folder: Path) -> Iterator[Path]:
    """Every `*.json` below `folder`, folder by folder in order of name."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".json"):
                yield Path(root) / name


def survey(
    folder: Path,
    table: Path | None = None,
    workers: int | None = None,
    ignore: frozenset[str] = frozenset(),
) -> Iterator[HostLine]:
    """One line per bundle, in order; a handful of chunks is in flight at any time.

    Args:
        folder: where the bundles lie.
        table: the site's own pairing rows.
        workers: processes to use; one for each core by default, none for few files.
        ignore: codes of checks that are not run.
    """
    paths = bundles(folder)
    head = list(islice(paths, _SERIAL_BELOW))
    workers = workers or os.cpu_count() or 1
    if len(head) < _SERIAL_BELOW or workers == 1:
        for path in head:
            yield judge(path, folder, table, ignore)
        for path in paths:
            yield judge(path, folder, table, ignore)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting = [pool.submit(_judge_all, head, folder, table, ignore)]
        for chunk in iter(lambda: list(islice(paths, _CHUNK)), []):
            waiting.append(pool.submit(_judge_all, chunk, folder, table, ignore))
            if len(waiting) > 4 * workers:
                yield from waiting.pop(0).result()
        for one in waiting:
            yield from one.result()


def _judge_all(
    paths: list[Path], folder: Path, table: Path | None, ignore: frozenset[str]
) -> list[HostLine]:
    return [judge(path, folder, table, ignore) for path in paths]


def judge(
    path: Path, folder: Path, table: Path | None = None, ignore: frozenset[str] = frozenset()
) -> HostLine:
    """One bundle; a bad file is a line with its problem, not the end of the survey."""
    host = str(path.relative_to(folder))[: -len(".json")]
    tables = load(table)  # a fault of the site's own table ends the survey
    try:
        machine = facts_of(bundle.load(path))
        roots = explained(diagnose(machine, tables, ignore=ignore).findings, machine)
        found = [f for root in roots for f in root.walk()]
    except UserError as error:
        sentence = error.sentence
        return HostLine(host, problem=(str(error), sentence.render("zh", error.params)))
    except Exception as error:  # one odd bundle must not end a survey of thousands
        why = f"{path}: {type(error).__name__}: {error}"
        return HostLine(host, problem=(why, why))
    words = {fact.key: fact.words("en") for fact in facts(machine)}
    first = found[0] if found else None
    return HostLine(
        host,
        tuple(words[part] for part in PARTS),
        first.code if first else "",
        (first.title.render("en", first.params), first.title.render("zh", first.params))
        if first
        else ("", ""),
        sum(f.severity is Severity.ERROR for f in found),
        sum(f.severity is Severity.WARNING for f in found),
        tuple(dict.fromkeys(f.code for f in found)),
    )
