"""Run `npudoctor migrate` over local checkouts of public repositories and print what came of it.

    python benchmarks/evidence_migrate.py CHECKOUTS > table.md

CHECKOUTS holds one folder per repository. Each is copied, migrated in place by the command
line, checked, and undone; the checkout itself is only read. Where `CHECKOUTS/commits.tsv`
exists (folder, owner/name, commit) the names are taken from it, else from git.

Checks: every Python file that parsed still parses; a second run changes nothing; comments and
prose strings are unchanged; undo gives back every byte; the command neither crashes nor times out.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDED_COMMENTS = {"# noqa: F401"}
TIMEOUT_S = 1800
MOST = 6  # reasons named per repository


@dataclass
class Row:
    """What came of one repository."""

    name: str
    repository: str
    commit: str
    files: int = 0
    changed: int = 0
    edits: int = 0
    syncs: str = ""
    left: Counter[str] = field(default_factory=Counter)
    notes: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def main() -> int:
    """Print the table; exit code 1 when a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="folders to run, default all")
    parser.add_argument("--jobs", type=int, default=0)
    chosen = parser.parse_args()
    known = commits(chosen.checkouts)
    folders = sorted((p for p in chosen.checkouts.iterdir() if p.is_dir()), key=lambda p: p.name.lower())
    rows = []
    for folder in folders:
        if chosen.only and folder.name not in chosen.only:
            continue
        repository, commit = known.get(folder.name) or ("", head_of(folder))
        row = run(folder, Row(folder.name, repository or folder.name, commit), chosen.jobs)
        rows.append(row)
        said = f"{row.name}: {row.changed} changed, {row.seconds:.1f} s {row.faults}"
        print(said, file=sys.stderr, flush=True)
    print(table(rows))
    return 1 if any(row.faults for row in rows) else 0


def run(folder: Path, row: Row, jobs: int) -> Row:
    """Copy, migrate, check, undo."""
    with tempfile.TemporaryDirectory(prefix="npudoctor-evidence-") as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        before = snapshot(copy)
        started = time.perf_counter()
        code, out = migrate(copy, "--json", *(["--jobs", str(jobs)] if jobs else []))
        row.seconds = time.perf_counter() - started
        if code not in (0, 1):
            row.faults.append(f"exit code {code}: {out.strip()[-300:]}")
            return row
        read_report(row, json.loads(out))
        compare(row, before, snapshot(copy))
        code, out = migrate(copy, "--check", "--json")
        again = json.loads(out)["extra"]["files_changed"] if code in (0, 1) else f"exit code {code}"
        if again:
            row.faults.append(f"second run changes {again}")
        if row.changed:
            migrate(copy, "--undo", "--quiet")
        if snapshot(copy) != before:
            row.faults.append("undo left a difference")
    return row


def migrate(path: Path, *options: str) -> tuple[int, str]:
    """Run the command line as a user would."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "npudoctor", "migrate", str(path), *options]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, "timed out"
    return done.returncode, done.stdout or done.stderr


def read_report(row: Row, report: dict) -> None:
    """Take the counts from the JSON form."""
    extra = report["extra"]
    row.files = extra["files_looked_at"]
    row.changed = len(extra["files_changed"])
    row.edits = sum(extra["edits_by_code"].values())
    syncs = extra["syncs"]
    row.syncs = f"{syncs['found']}/{sum(syncs['removed'].values())}"
    for finding in report["findings"]:
        if finding["severity"] == "note":
            row.notes += 1
        else:
            row.left[f"{finding['code']} {finding['slug']}"] += 1
        if finding["code"] == "NPU195":
            row.faults.append(f"{finding['place']['path']}: {finding['title']}")


def compare(row: Row, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every change must parse and leave comments and prose alone."""
    if set(before) != {path for path in after if not path.startswith(".npudoctor/")}:
        row.faults.append("files appeared or went")
    for path, old in before.items():
        new = after.get(path, b"")
        if new == old or not path.endswith((".py", ".pyi")):
            continue
        if parses(old) and not parses(new):
            row.faults.append(f"{path} no longer parses")
            continue
        if comments(old) != comments(new):
            row.faults.append(f"{path}: a comment changed")
        changed = prose(old) - prose(new)
        if changed:
            row.faults.append(f"{path}: prose changed: {sorted(changed)[0][:80]!r}")


def snapshot(root: Path) -> dict[str, bytes]:
    """Bytes of every regular file below `root`."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def parses(data: bytes) -> bool:
    """Whether this interpreter reads the bytes as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def comments(data: bytes) -> list[str]:
    """Comments in order, without those that npudoctor adds."""
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT and token.string not in ADDED_COMMENTS:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found


def prose(data: bytes) -> Counter[str]:
    """String constants that read like text for people: with blanks in them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = ast.walk(ast.parse(data))
    texts = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return Counter(text for text in texts if " " in text.strip())


def commits(checkouts: Path) -> dict[str, tuple[str, str]]:
    """Folder -> (owner/name, commit) from commits.tsv."""
    path = checkouts / "commits.tsv"
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {row[0]: (row[1], row[2]) for row in rows}


def head_of(folder: Path) -> str:
    """Commit of a checkout, or nothing."""
    done = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| repository | commit | files | changed | edits | syncs found/removed | left over by reason | "
        "notes | s | checks |",
        "|---|---|---:|---:|---:|---:|---|---:|---:|---|",
    ]
    for row in rows:
        left = ", ".join(f"{n}× {reason}" for reason, n in row.left.most_common(MOST)) or "none"
        rest = sum(row.left.values()) - sum(n for _, n in row.left.most_common(MOST))
        left += f", {rest} of other kinds" if rest else ""
        checks = "; ".join(row.faults) or "all pass"
        lines.append(
            f"| {row.repository} | {row.commit[:10]} | {row.files} | {row.changed} | {row.edits} "
            f"| {row.syncs} | {left} | {row.notes} | {row.seconds:.1f} | {checks} |"
        )
    total = (sum(r.files for r in rows), sum(r.changed for r in rows), sum(r.edits for r in rows))
    seconds, failed = sum(r.seconds for r in rows), sum(bool(r.faults) for r in rows)
    lines.append(
        f"| all ({len(rows)}) | | {total[0]} | {total[1]} | {total[2]} | | | | {seconds:.1f} "
        f"| {failed} with a failed check |"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
