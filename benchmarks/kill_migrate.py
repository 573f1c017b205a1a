"""Kill `npudoctor migrate` and `--undo` with SIGKILL at random moments, and look at what is left.

    python benchmarks/kill_migrate.py [--kills 200] [--files 60] [--seed 1]

After each kill: every file has its old or its new bytes, nothing was added outside
`.npudoctor/`, and `--undo` gives back every byte and leaves no trace. Prints how many kills
met which state; exit code 1 at the first violation.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from npudoctor import cli
from npudoctor.migrate import lang, undo, writer  # noqa: F401  (loaded before the forks)

CODE = "import torch\n\n\ndef make{i}():\n    return torch.nn.Linear({i}, 2).cuda()  # {i}\n"


def main() -> int:
    """Run the kills and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    states: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="npudoctor-kill-") as scratch:
        tree = Path(scratch) / "tree"
        old = make_tree(tree, chosen.files)
        migrating, new = timed(tree)
        undoing, _ = timed(tree, "--undo")
        check(snapshot(tree) == old, "undo is not exact even without a kill")
        for number in range(chosen.kills):
            reset(tree, old)
            if number % 4 == 3:  # kill the undo of a finished migration
                run(tree)
                kill(tree, rng.uniform(0, undoing), "--undo")
            else:
                kill(tree, rng.uniform(0.2 * migrating, migrating))
            states[judge(tree, old, new)] += 1
    for state, n in sorted(states.items()):
        print(f"{n:5d}  {state}")
    print(f"{chosen.kills} kills: every file old or new each time, every undo exact")
    return 0


def make_tree(tree: Path, files: int) -> dict[str, bytes]:
    """A tree whose every file changes; some names with blanks and in Chinese."""
    for i in range(files):
        path = tree / f"part {i % 5}" / f"模块{i}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE.format(i=i), encoding="utf-8")
    return snapshot(tree)


def timed(tree: Path, *options: str) -> tuple[float, dict[str, bytes]]:
    """Seconds of one whole run, and the files after it."""
    started = time.monotonic()
    run(tree, *options)
    return time.monotonic() - started, snapshot(tree)


def run(tree: Path, *options: str) -> int:
    """Run the command line to its end."""
    return os.waitstatus_to_exitcode(os.waitpid(start(tree, *options), 0)[1])


def start(tree: Path, *options: str) -> int:
    """Start the command line in a child with a process group of its own (a fork: modules are loaded)."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(cli.run(["migrate", str(tree), "--quiet", *options]))
    return child


def kill(tree: Path, after: float, *options: str) -> None:
    """SIGKILL to the whole group after so many seconds."""
    child = start(tree, *options)
    time.sleep(after)
    for end in (os.killpg, os.kill):  # the group is there only once the child has made it
        with contextlib.suppress(ProcessLookupError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)


def judge(tree: Path, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """Name of the state the kill left; raises when it is not one that may be."""
    now = snapshot(tree)
    check(now.keys() == old.keys(), f"files appeared or went: {sorted(now.keys() ^ old.keys())}")
    for path, data in now.items():
        check(data in (old[path], new[path]), f"{path} is neither old nor new")
    changed = sum(now[path] != old[path] for path in old)
    backed_up = (tree / ".npudoctor").exists()
    code = run(tree, "--undo")
    check(code == 0 or (code == 2 and not changed), f"undo failed with {code}")
    check(run(tree, "--undo") == 2, "undo twice found something")
    check(not (tree / ".npudoctor").exists(), "undo left its backup")
    check(snapshot(tree) == old, "undo left a difference")
    share = "no file new" if not changed else "every file new" if changed == len(old) else "some files new"
    return f"{share}, {'backup there' if backed_up else 'no backup'}"


def snapshot(tree: Path) -> dict[str, bytes]:
    """Every file outside `.npudoctor/`."""
    files = (p for p in tree.rglob("*") if p.is_file() and ".npudoctor" not in p.parts)
    return {p.relative_to(tree).as_posix(): p.read_bytes() for p in files}


def reset(tree: Path, old: dict[str, bytes]) -> None:
    """The tree as it was, whatever happened."""
    shutil.rmtree(tree, ignore_errors=True)
    for path, data in old.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)


def check(good: bool, otherwise: str) -> None:
    """Stop with a sentence when something that must hold does not."""
    if not good:
        raise SystemExit(f"violated: {otherwise}")


if __name__ == "__main__":
    raise SystemExit(main())
