"""Migrate the projects of `evidence.toml` in portable style: one text for a CPU and for the simulated NPU.

    python benchmarks/evidence_portable.py CHECKOUTS

CHECKOUTS as for `evidence.py`. The original runs twice on the CPU, the migrated copy on the plain CPU (no
NPU, no CUDA) and on the simulated NPU; printed numbers, logged scalars and final weights of each are
compared with the original's. Nothing here is a measurement of hardware.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import evidence

HEAD = ("project", "original on CPU", "migrated, CPU", "migrated, simulated NPU", "changed lines")


def main() -> int:
    """Print the table; exit code 1 when a project failed or its numbers differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="words that a project's name contains")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each run")
    chosen = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    print("| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), sep="\n")
    good = True
    for project in evidence.projects():
        if chosen.only and not any(word in project["name"] for word in chosen.only):
            continue
        with evidence.scratch(None, project["name"]) as folder:
            cells = row(project, chosen.checkouts, folder, chosen.timeout)
        good = good and all(cell.startswith("same") for cell in cells[2:4])
        print("| " + " | ".join(cells) + " |", flush=True)
    return 0 if good else 1


def row(project: dict[str, Any], checkouts: Path, folder: Path, timeout: float) -> list[str]:
    """One line of the table."""
    from npudoctor.simulate import verify

    original = folder / "original"
    evidence.copy(project, checkouts / project["folder"], original)
    options = (*project.get("migrate", ()), "--style", "portable")
    tree = evidence.migrated(original, folder / "portable", options)
    evidence.support(project)
    words = project["command"].split()[1:]
    first = verify.on_cpu(words, original, timeout)
    again = verify.fresh(first.mode, words, original, timeout)
    ran = "ran" if first.mode == "plain" else "insists on cuda: ran with the CPU under that name"
    return [
        project["name"],
        ran if first.status == 0 else f"failed: {evidence.short(first.error)}",
        *(told(first, again, verify.fresh(mode, words, tree, timeout)) for mode in ("plain", "npu")),
        str(evidence.changed_lines(original, tree)),
    ]


def told(original: Any, again: Any, migrated: Any) -> str:
    """Whether a run gave the original's numbers, of those that the original repeats itself."""
    from npudoctor.simulate import verify

    if migrated.status:
        return f"failed: {evidence.short(migrated.error)}"
    found = verify.compared(original, again, migrated, original)
    if found.differences:
        first = found.differences[0]
        return f"{len(found.differences)} differ, first {first.kind} {first.name}"
    counts = ", ".join(f"{count} {word}" for word, count in found.compared.items())
    return f"same numbers ({counts})"


if __name__ == "__main__":
    sys.exit(main())
