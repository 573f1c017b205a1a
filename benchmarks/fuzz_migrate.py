"""Throw broken input at every parser of `npudoctor migrate`.

    python benchmarks/fuzz_migrate.py [--cases 100000] [--seed 1]

Seeds are the examples of fixtures/idioms and the raw files of fixtures/torture; each case cuts,
doubles, swaps or overwrites pieces of one. For every case: no exception, no case slower than
the limit, a second run over the result changes nothing, JSON and TOML stay JSON and TOML.
Prints the number of cases by kind; exit code 1 at the first violation, with the input.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from npudoctor.migrate import filetypes, pages  # noqa: E402
from npudoctor.migrate.lang import languages  # noqa: E402
from npudoctor.migrate.project import ProjectIndex  # noqa: E402
from npudoctor.migrate.settings import Settings  # noqa: E402
from npudoctor.migrate.source import SourceError  # noqa: E402

SLOW_S = 5.0
PIECES = [
    b"cuda", b"device: cuda\n", b"\n", b"\r\n", b"  ", b"\t", b"- ", b": ", b"{", b"}", b"[", b"]", b'"',
    b"'", b"#", b"\\", b"$(", b"${DEVICE:-cuda}", b"`", b"|", b">-\n", b"<<EOF\n", b"=", b"--device ",
    b"\x00", b"\xff", b"\xef\xbb\xbf", "中".encode(), b"\x0c", b"%%bash\n", b"!nvidia-smi\n",
    b"import torch\n", b'"""', b"[a.b]\n",
]


def main() -> int:
    """Run the cases and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # what the parser thinks of broken literals
    rng = random.Random(chosen.seed)
    pool = seeds()
    done: Counter[str] = Counter()
    started = time.monotonic()
    for _ in range(chosen.cases):
        path, data = rng.choice(pool)
        kind = one(path, mutate(rng, data, pool))
        done[kind] += 1
    for kind, n in done.most_common():
        print(f"{n:7d}  {kind}")
    print(f"{chosen.cases} cases, no violation, {time.monotonic() - started:.0f} s")
    return 0


def seeds() -> list[tuple[str, bytes]]:
    """Path and bytes of every example."""
    found = [(p.name, p.read_bytes()) for p in (ROOT / "fixtures" / "torture").iterdir()]
    for page in (ROOT / "fixtures" / "idioms").glob("*.md"):
        for example in pages.parse(page.read_text(encoding="utf-8")).examples:
            found.append((example.path, example.source.encode()))
    return sorted(found) + notebooks() * 10


def notebooks() -> list[tuple[str, bytes]]:
    """Notebooks as two tools write them."""
    import json

    cell = {"cell_type": "code", "metadata": {}, "outputs": [{"text": ["x.cuda()\n"]}], "source": [
        "%matplotlib inline\n", "!pip install torch==1.12\n", "import torch\n", "x = torch.zeros(1).cuda()"]}
    whole = {"cells": [cell, {"cell_type": "markdown", "source": "cuda é"}], "metadata": {}, "nbformat": 4}
    return [
        ("a.ipynb", (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()),
        ("b.ipynb", json.dumps(whole).encode()),
    ]


def mutate(rng: random.Random, data: bytes, pool: list[tuple[str, bytes]]) -> bytes:
    """A few random changes."""
    for _ in range(rng.randint(1, 6)):
        a = rng.randint(0, len(data))
        b = min(len(data), a + rng.randint(0, 20))
        how = rng.randint(0, 4)
        if how == 0:
            data = data[:a] + data[b:]
        elif how == 1:
            data = data[:a] + rng.choice(PIECES) + data[a:]
        elif how == 2:
            data = data[:a] + rng.choice(PIECES) * rng.randint(1, 30) + data[b:]
        elif how == 3:
            data = data[:a] + data[a:b] * 3 + data[b:]
        else:
            other = rng.choice(pool)[1]
            data = data[:a] + other[: rng.randint(0, 80)] + data[b:]
    return data


def one(path: str, data: bytes) -> str:
    """Migrate one input twice; returns its kind, or stops with the input."""
    kind = filetypes.classify(path, lambda: data[:80]) or filetypes.YAML
    language = languages()[kind]
    started = time.monotonic()
    try:
        source = language.decode(data)
        language.facts(source.text, path)
        first = language.migrate(source.text, path, Settings(), ProjectIndex())
        second = language.migrate(first.text, path, Settings(), ProjectIndex())
        source.encode(first.text)
    except SourceError:
        return f"{kind} (refused)"
    except Exception as error:
        raise SystemExit(f"violated: {type(error).__name__}: {error}\n{path}\n{data!r}") from error
    if second.text != first.text:
        raise SystemExit(f"violated: the second run changes something\n{path}\n{data!r}")
    if time.monotonic() - started > SLOW_S:
        raise SystemExit(f"violated: slower than {SLOW_S} s\n{path}\n{data!r}")
    return kind


if __name__ == "__main__":
    raise SystemExit(main())
