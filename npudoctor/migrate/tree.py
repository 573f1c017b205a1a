"""Migrate a tree in two passes: learn what the modules say about each other, then rewrite each.

Both passes run in child processes. That uses every core, and a file that brings the
interpreter down (nesting that overflows a native stack) costs one finding, not the run.
Nothing is written here.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from npudoctor.config import Config, matches
from npudoctor.core.finding import Finding, Safety
from npudoctor.migrate import engine, filetypes, parsed
from npudoctor.migrate.engine import FileResult, Outcome
from npudoctor.migrate.journal import sha256
from npudoctor.migrate.lang import Language, languages, python
from npudoctor.migrate.pool import Advance, Workers
from npudoctor.migrate.problems import problem
from npudoctor.migrate.project import ProjectIndex, collect_facts
from npudoctor.migrate.settings import Settings
from npudoctor.migrate.source import SourceError
from npudoctor.migrate.walk import Entry, Tree, shown
from npudoctor.migrate.writer import read

KEPT_CHARACTERS = 2 << 20  # of source, by all workers together: about 120 MB of syntax trees
DEVICE_USED = "device_used"  # fact of a file that places something on an accelerator
_DEVICE = re.compile(rb"\.cuda\b|\.npu\b|[\"']cuda|[\"']npu|\bto\(\s*(self\.)?_?dev|\bdevice\s*=")
_GENERATED = re.compile(
    rb"^[ \t]*(?:#|//|;|\*)(?=.*(?:\bdo not edit\b|@generated\b|\bauto-?generated\b)).*$",
    re.IGNORECASE | re.MULTILINE,
)

# Takes the paths through the rules that load something: see `_prepare`.
_SAMPLE = """\
import numpy as np
import torch
from torch.distributions import Normal

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
for step in range(8):
    action = Normal(torch.zeros(1, device=device), 1.0).sample()
    obs, reward, done, info = env.step(action.cpu().numpy())
    rewards[step] = torch.tensor(reward).to(device)
for epoch in range(4):
    index = np.arange(8)[0:4]
    loss = (rewards[index] - values[index]).mean()
    loss.backward()
    losses.append(loss.item())
    print(loss.item(), epoch)
"""


@dataclass(frozen=True)
class FileOutcome:
    """What came of one file.

    Attributes:
        entry: the file.
        result: findings and counts; its `text` is left empty to keep memory small.
        before: original bytes, only of a file that changes.
        after: new bytes, None when the file stays as it is.
    """

    entry: Entry
    result: FileResult
    before: bytes = b""
    after: bytes | None = None

    @property
    def before_sha256(self) -> str:
        """Hash of the bytes that `after` was made from."""
        return sha256(self.before)


@dataclass(frozen=True)
class TreeOutcome:
    """What came of a tree; `files` holds only files with a change or a finding, sorted by path."""

    tree: Tree
    files: tuple[FileOutcome, ...]
    looked_at: int
    by_kind: Mapping[str, int]
    seconds: float

    @property
    def changed(self) -> tuple[FileOutcome, ...]:
        """Files with new bytes."""
        return tuple(f for f in self.files if f.after is not None)

    @property
    def edits(self) -> Counter[str]:
        """Code -> number of rewrites."""
        total: Counter[str] = Counter()
        for file in self.changed:
            total.update(file.result.edits)
        return total


@dataclass(frozen=True)
class Job:
    """What a worker needs beside the file.

    Attributes:
        keep: characters of source whose syntax trees a worker keeps from the first pass for the second.
    """

    root: Path
    config: Config
    settings: Settings
    project: ProjectIndex = field(default_factory=ProjectIndex)
    keep: int = 0


def migrate_tree(
    tree: Tree,
    config: Config,
    settings: Settings,
    jobs: int | None = None,
    advance: Advance = lambda n: None,
) -> TreeOutcome:
    """Work out the new bytes of every file of `tree`.

    Args:
        tree: from `walk`.
        config: selection by path; `settings` already holds the rest of it.
        settings: for the engine.
        jobs: worker processes; default one per usable core.
        advance: called with the number of files each time some are done (each file counts twice).
    """
    started = time.monotonic()
    known = languages()
    entries = [e for e in tree.entries if e.kind in known]
    indexed = [e for e in entries if known[e.kind].indexed]
    workers = max(1, min(jobs or usable_cores(), len(entries)))
    job = Job(tree.root, config, settings, keep=KEPT_CHARACTERS // workers)
    _prepare()
    with Workers(workers) as pool:
        facts = pool.run(_index, indexed, job, advance, lambda entry, why: {})
        advance(len(entries) - len(indexed))
        if not tree.single and not any(DEVICE_USED in found for found in facts.values()):
            # Nothing moves to a device, so nothing waits for one.
            job = replace(job, settings=replace(settings, ignore=(*settings.ignore, "NPU2")))
        job = replace(job, project=_project(facts, entries))
        found = pool.run(_rewrite, entries, job, advance, _crashed)
    files = [f for f in (*found.values(), *_left_out(tree)) if f.after is not None or f.result.outcomes]
    by_kind = dict(Counter(e.kind for e in tree.entries))
    ordered = tuple(sorted(files, key=lambda f: f.entry.path))
    return TreeOutcome(tree, ordered, len(entries), by_kind, time.monotonic() - started)


@functools.cache
def _prepare() -> None:
    """Load what every worker needs (rules, tables, patterns) once, before they are forked off."""
    facts = collect_facts(_SAMPLE, "sample.py")
    engine.migrate_source(_SAMPLE, "sample.py", project=ProjectIndex({"sample.py": facts}))
    python.trigger()


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def file_settings(settings: Settings, config: Config, path: str) -> Settings:
    """`settings` with the codes that [tool.npudoctor.per-file-ignores] adds for `path`."""
    ignores = config.per_file_ignores.items()
    more = [code for pattern, codes in ignores if matches((pattern,), path) for code in codes]
    return replace(settings, ignore=(*settings.ignore, *more)) if more else settings


def _index(entry: Entry, job: Job) -> Mapping[str, Any]:
    """Facts of one file for the index of the project; none when it cannot be read."""
    language = languages()[entry.kind]
    enabled = file_settings(job.settings, job.config, entry.path).enabled
    if language.view is not None and not enabled("NPU173"):
        return {}  # a device named there stays, so nothing may be compared with its new name
    parsed.keep_up_to(job.keep)
    try:
        data = read(job.root, entry.path)
        if not language.wants(data):
            return {}
        found = dict(language.facts(language.decode(data).text, shown(entry.path)))
        return {**found, DEVICE_USED: True} if _DEVICE.search(data) else found
    except (OSError, SourceError, RecursionError, MemoryError):
        return {}


def _rewrite(entry: Entry, job: Job) -> FileOutcome:
    language = languages()[entry.kind]
    path = shown(entry.path)
    try:
        data = read(job.root, entry.path)
    except OSError as error:
        return _failed(entry, problem("NPU190", path, error.strerror or str(error)))
    # Source code holds no NUL: such a file is worth a word even where no idiom can be seen.
    if not language.wants(data) and not (entry.kind == filetypes.PYTHON and b"\0" in data):
        return FileOutcome(entry, FileResult(path, ""))
    try:
        return _migrate(entry, language, data, job)
    except SourceError as error:
        return _failed(entry, problem("NPU191", path, error.detail))
    except (RecursionError, MemoryError) as error:
        return _failed(entry, problem("NPU195", path, type(error).__name__))


def _migrate(entry: Entry, language: Language, data: bytes, job: Job) -> FileOutcome:
    path = shown(entry.path)
    source = language.decode(data)
    settings = file_settings(job.settings, job.config, entry.path)
    result = language.migrate(source.text, path, settings, job.project)
    if not result.changed:
        return FileOutcome(entry, replace(result, text=""))
    mark = _GENERATED.search(data[:2000])
    if mark and entry.kind != filetypes.NOTEBOOK:
        words = mark.group(0).decode("utf-8", "replace").strip(" #/*;")[:80]
        return _failed(entry, problem("NPU197", path, words))
    after = source.encode(result.text)
    return FileOutcome(entry, replace(result, text=""), data, after)


def _failed(entry: Entry, finding: Finding) -> FileOutcome:
    outcome = Outcome(finding, False, safety=Safety.MANUAL)
    return FileOutcome(entry, FileResult(shown(entry.path), "", outcomes=(outcome,), failed=True))


def _crashed(entry: Entry, reason: str) -> FileOutcome:
    return _failed(entry, problem("NPU195", shown(entry.path), reason))


def _project(facts: Mapping[str, Any], entries: Sequence[Entry]) -> ProjectIndex:
    modules = {shown(path): found for path, found in facts.items() if found}
    python = {shown(e.path) for e in entries if e.kind in (filetypes.PYTHON, filetypes.NOTEBOOK)}
    code = {path: found for path, found in modules.items() if path in python}
    return ProjectIndex(code, {path: found for path, found in modules.items() if path not in python})


def _left_out(tree: Tree) -> list[FileOutcome]:
    """Findings about files that were not looked at."""
    found = []
    for entry in tree.entries:
        if entry.kind == filetypes.CUDA_SOURCE:
            found.append(_failed(entry, problem("NPU196", shown(entry.path))))
    for skip in tree.skipped:
        entry = Entry(skip.path, "", 0)
        path = shown(skip.path)
        if skip.reason == "large":
            kind = filetypes.classify(skip.path, lambda: b"") or filetypes.PYTHON
            limit = f"{filetypes.limit(kind) >> 20} MB"
            found.append(_failed(entry, problem("NPU192", path, limit=limit)))
        elif skip.reason == "unreadable":
            found.append(_failed(entry, problem("NPU190", path, "unreadable")))
        elif skip.reason == "link-out":
            found.append(_failed(entry, problem("NPU193", path)))
    return found
