"""Migrate public PPO projects, run them on the simulated NPU, and print what came of it.

    python benchmarks/evidence.py CHECKOUTS > table.md

CHECKOUTS holds one folder per repository, as `evidence.toml` names them; it is only read. Each
project is copied, made short by the patches of `evidence.toml`, and run on the CPU twice; the
migrated copy runs on the simulated NPU and its printed numbers, logged scalars and final weights
are compared (`npudoctor.simulate.verify`). A copy migrated without the sync rules gives the syncs
before, one migrated with `--unsafe-fixes` what is left after the fixes a person has to allow.
Nothing here is a measurement of hardware.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SUPPORT = ROOT / "benchmarks" / "evidence_support"
HEAD = (
    "project", "style", "original on CPU", "migrated, simulated NPU", "numbers equal",
    "syncs per step before", "after", "with --unsafe-fixes", "changed lines", "vendor's changed lines",
)


@dataclass
class Row:
    """What came of one project."""

    name: str
    style: str
    original: str = "not run"
    migrated: str = "not run"
    equal: str = "not compared"
    before: str = "unknown"
    after: str = "unknown"
    unsafe: str = "unknown"
    diff: str = "unknown"
    vendor: str = "unknown"
    notes: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, ...]:
        """In the order of `HEAD`."""
        return (
            self.name, self.style, self.original, self.migrated, self.equal,
            self.before, self.after, self.unsafe, self.diff, self.vendor,
        )


def main() -> int:
    """Print the table; exit code 1 when a project failed or its numbers differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="words that a project's name contains")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each run")
    parser.add_argument("--keep", type=Path, help="leave the copies in this folder")
    chosen = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    rows = []
    for project in projects():
        if chosen.only and not any(word in project["name"] for word in chosen.only):
            continue
        started = time.monotonic()
        with scratch(chosen.keep, project["name"]) as folder:
            row = run(project, chosen.checkouts, folder, chosen.timeout)
        rows.append(row)
        print(f"{time.monotonic() - started:.0f} s", *row.cells(), *row.notes, sep=" | ", file=sys.stderr)
    print(table(rows))
    good = [row.original == row.migrated == "ran" and row.equal.startswith("yes") for row in rows]
    return 0 if all(good) else 1


def projects() -> list[dict[str, Any]]:
    """Rows of `evidence.toml`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = (Path(__file__).with_suffix(".toml")).read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["project"]
    return found


class scratch:
    """A folder for one project's copies: temporary, or kept below `keep`."""

    def __init__(self, keep: Path | None, name: str) -> None:
        self.keep, self.name = keep, name.replace(" ", "-").replace("/", "-")

    def __enter__(self) -> Path:
        if self.keep is None:
            self.path = Path(tempfile.mkdtemp(prefix="npudoctor-evidence-"))
        else:
            self.path = self.keep / self.name
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.mkdir(parents=True)
        return self.path

    def __exit__(self, *_: object) -> None:
        if self.keep is None:
            shutil.rmtree(self.path, ignore_errors=True)


def support(project: dict[str, Any]) -> None:
    """Let the runs that follow import what stands in for packages that the project needs."""
    os.environ["PYTHONPATH"] = os.pathsep.join(str(SUPPORT / name) for name in project.get("support", ()))


def run(project: dict[str, Any], checkouts: Path, folder: Path, timeout: float) -> Row:
    """Copy, migrate three ways, run, compare."""
    from npudoctor.simulate import verify

    row = Row(project["name"], project["style"], vendor=project.get("vendor", "unknown"))
    row.notes += [project["note"]] if "note" in project else []
    original = folder / "original"
    extra, steps = project.get("migrate", ()), project.get("steps", 0)
    try:
        copy(project, checkouts / project["folder"], original)
        ways = {"after": (), "before": ("--ignore", "NPU2"), "unsafe": ("--unsafe-fixes",)}
        trees = {way: migrated(original, folder / way, (*extra, *more)) for way, more in ways.items()}
    except (OSError, RuntimeError) as error:
        row.notes.append(str(error))
        return row
    lines = {way: changed_lines(original, trees[way]) for way in ("before", "after")}
    row.diff = f"{lines['before']} ({lines['after']} with the sync rules)"
    support(project)
    result = verify.verify(
        project["command"], original, trees["after"], device_only=trees["before"], timeout=timeout
    )
    told(row, result)
    words = project["command"].split()[1:]
    row.before = per_step(result.before, steps)
    row.after = per_step(result.migrated, steps)
    row.unsafe = per_step(verify.run("npu", words, trees["unsafe"], timeout), steps)
    return row


def copy(project: dict[str, Any], source: Path, target: Path) -> None:
    """The files that the command needs, patched.

    Raises:
        RuntimeError: a patch's text is not there.
        OSError: the checkout lacks a file.
    """
    target.mkdir()
    for name in project["copy"]:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(".git"))
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)
    if "driver" in project:
        shutil.copy(SUPPORT / "drivers" / project["driver"], target)
    for patch in project.get("patch", ()):
        file = target / patch["file"]
        text = file.read_text(encoding="utf-8")
        if patch["old"] not in text:
            raise RuntimeError(f"{patch['file']} has no {patch['old']!r}: another commit?")
        file.write_text(text.replace(patch["old"], patch["new"]), encoding="utf-8")


def migrated(original: Path, target: Path, options: tuple[str, ...]) -> Path:
    """A migrated copy, made by the command line as a user would.

    Raises:
        RuntimeError: the command failed.
    """
    command = [sys.executable, "-m", "npudoctor", "migrate", str(original), "--output", str(target), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"migrate {' '.join(options)}: {done.stderr.strip()[-200:]}")
    return target


def changed_lines(before: Path, after: Path) -> int:
    """Lines that differ, over all files: a line replaced counts once, a line put in or taken out too."""
    total = 0
    for old in before.rglob("*"):
        new = after / old.relative_to(before)
        if not old.is_file() or not new.is_file() or old.read_bytes() == new.read_bytes():
            continue
        texts = [path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (old, new)]
        matcher = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False)
        total += sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")
    return total


def told(row: Row, result: Any) -> None:
    """How both programs ended and whether their numbers agree."""
    from npudoctor.simulate import verify

    row.original = "ran" if result.original.status == 0 else f"failed: {short(result.original.error)}"
    if result.original.status == 0 and result.original.mode == "cpu":
        row.notes.append("insists on cuda: the original ran with the CPU under that name")
    if result.migrated.status != verify.NOT_RUN:
        row.migrated = "ran" if result.migrated.status == 0 else f"failed: {short(result.migrated.error)}"
    if result.same:
        said = result.compared
        row.equal = f"yes ({said['printed']} printed, {said['logged']} logged, {said['weights']} weights)"
    elif result.differences:
        first = result.differences[0]
        row.equal = f"no: {len(result.differences)} differ, first {first.kind} {first.name}: " + short(
            f"{first.original} -> {first.migrated}")
    elif result.original.status == 0 == result.migrated.status:
        row.equal = f"nothing repeatable to compare ({result.noisy} values differ between two runs)"


def per_step(run: Any, steps: int) -> str:
    """Syncs per environment step of one run, or why there is no number.

    Args:
        run: of the harness.
        steps: environment steps of the run; 0 for those that were counted.
    """
    if run.status or not run.simulation:
        return f"failed: {short(run.error)}"
    totals = run.simulation["totals"]
    steps = steps or totals.get("env_steps") or 0
    return f"{totals['syncs'] / steps:.2f}" if steps else f"{totals['syncs']} in all"


def short(text: str) -> str:
    """Fits a cell."""
    return text.replace("|", "/")[:140]


def table(rows: list[Row]) -> str:
    """Markdown, with the notes below."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    lines += ["", *(f"- {row.name}: {'; '.join(row.notes)}." for row in rows if row.notes)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
